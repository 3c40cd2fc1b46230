// The daily ceilings of a workspace's ad budgets (docs/api/ads.md#ceilings). They bind whoever may change an app but does
// not answer for the workspace's money.
//
// Worked example: the owner has set 20 USD per app and 50 USD in all. App A has a campaign of 15 USD a day. An editor may
// launch one of 5 USD in A, but not of 10: 5 are left. In app B, where nothing runs, 20 are left, and 35 in all.
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import { transaction } from '../../../kit/db/database.ts';
import { unchanged } from '../../../kit/http/answer.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { currencyOf } from '../accounts/currencies.ts';
import { currencyUnsupported } from '../budgets/boundaries.ts';
import { budgets, type Currency, isCurrency } from '../budgets/table.ts';
import type { AboutCampaign } from '../problems.ts';
import {
  type Budgeted,
  findCeiling,
  listBudgeted,
  lockBudgets,
  type NewCeiling,
  saveCeiling,
} from '../store/ceilings.ts';

export interface CeilingDeps {
  readonly defaultCurrency: Currency;
}

export async function getCeilings(db: Db, deps: CeilingDeps, access: WorkspaceAccess) {
  const { is_default, ...ceiling } = await readCeiling(db, deps, access);
  const budgeted = await listBudgeted(db, access, undefined);
  const budgeted_daily_micros = sum(budgeted.map((each) => convert(each, ceiling.currency_code)));
  return { ...ceiling, is_default, budgeted_daily_micros };
}

export async function putCeilings(
  db: Db,
  deps: CeilingDeps,
  access: WorkspaceAccess,
  { currency_code, app_daily_micros, workspace_daily_micros }: NewCeiling,
  now: Date,
) {
  if (!isCurrency(currency_code)) throw currencyUnsupported();
  return transaction(db, async (db) => {
    await lockBudgets(db, access);
    const { is_default, ...before } = await readCeiling(db, deps, access);
    const after = { currency_code, app_daily_micros, workspace_daily_micros };
    if (!is_default && JSON.stringify(before) === JSON.stringify(after))
      return unchanged(await getCeilings(db, deps, access));
    await saveCeiling(db, access, after, now);
    const target = { kind: 'workspace', id: access.workspace_id };
    await audit(db, access, { type: 'ads.ceilings.changed', target, before, after }, now);
    return getCeilings(db, deps, access);
  });
}

interface Ceiling {
  readonly currency_code: Currency;
  readonly app_daily_micros: number;
  readonly workspace_daily_micros: number;
  readonly is_default: boolean;
}

/** The default lets one campaign run, of either type, with the smallest budget. */
async function readCeiling(db: Db, { defaultCurrency }: CeilingDeps, access: WorkspaceAccess): Promise<Ceiling> {
  const row = await findCeiling(db, access);
  if (row !== undefined) {
    const { app_daily_micros, workspace_daily_micros } = row;
    const currency_code = row.currency_code as Currency; // checked when it was saved
    return { currency_code, app_daily_micros, workspace_daily_micros, is_default: false };
  }
  const { country_code } = await getWorkspaceRow(db, access);
  const currency_code = currencyOf(country_code, defaultCurrency);
  const smallest = budgets[currency_code].min.PERFORMANCE_MAX * 1_000_000;
  return { currency_code, app_daily_micros: smallest, workspace_daily_micros: smallest, is_default: true };
}

/** What somebody wants to spend a day on a campaign. */
export interface PlannedBudget {
  readonly currency_code: string;
  readonly daily_micros: number;
  /** The campaign, if it exists. Its present budget does not count. */
  readonly campaign_id: string | undefined;
  readonly about: AboutCampaign;
}

/**
 * Throws 409 if a ceiling binds the caller and the budget exceeds it. In the transaction that records the launch or
 * change, `lock` keeps two callers from using the same rest.
 */
export async function requireWithinCeiling(
  db: Db,
  deps: CeilingDeps,
  access: AppAccess,
  planned: PlannedBudget,
  { lock }: { readonly lock: boolean },
): Promise<void> {
  if (lock) await lockBudgets(db, access); // also for callers who are not bound, so others count what they add
  if (answersForMoney(access)) return;
  const ceiling = await readCeiling(db, deps, access);
  const others = await listBudgeted(db, access, planned.campaign_id);
  const inCeiling = (budgeted: readonly Budgeted[]) =>
    sum(budgeted.map((each) => convert(each, ceiling.currency_code)));
  const left = {
    app: ceiling.app_daily_micros - inCeiling(others.filter(({ app_id }) => app_id === access.app.id)),
    workspace: ceiling.workspace_daily_micros - inCeiling(others),
  };
  const remaining = Math.max(0, Math.min(left.app, left.workspace));
  if (convert({ app_id: access.app.id, ...planned }, ceiling.currency_code) <= remaining) return;
  throw new Problem(
    'conflict',
    'spending_ceiling_reached',
    "The daily budget exceeds what is left of the workspace's ceiling for ads. Budgets count for a day after a campaign stops. Nothing was changed. Choose a smaller budget, ask an owner or admin to make the change, or ask the owner to raise the ceiling.",
    {
      members: {
        ...planned.about,
        ceiling: left.app <= left.workspace ? 'app' : 'workspace',
        remaining_daily_micros: remaining,
        currency_code: ceiling.currency_code,
      },
      retrySafe: false,
    },
  );
}

/** An owner or admin whose credential is not limited to apps. What they ask for is the consent. */
const answersForMoney = ({ role, caller }: AppAccess): boolean =>
  (role === 'owner' || role === 'admin') && caller.app_ids === null;

/** Amounts in other currencies are compared by the largest budgets of both (docs/api/ads.md#budgets). */
function convert({ currency_code, daily_micros }: Budgeted, into: Currency): number {
  if (currency_code === null || !isCurrency(currency_code) || currency_code === into) return daily_micros;
  return Math.ceil((daily_micros * budgets[into].max) / budgets[currency_code].max);
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
