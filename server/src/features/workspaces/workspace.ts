// Creates, changes and deletes workspaces, and the settings that operators control.
import { isDeepStrictEqual } from 'node:util';
import { audit, auditOperator } from '../../core/audit/audit.ts';
import { monthlyCredits, type Plan } from '../../core/auth/plans.ts';
import type { SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { issueForNewWorkspace } from '../../core/auth/proofs-without-guard.ts';
import { presentLedgerRow } from '../../core/credits/ledger.ts';
import { grant, syncPoolLimit } from '../../core/credits/reservations.ts';
import { getCallingUser } from '../../core/identity/accounts.ts';
import { insertWorkspace } from '../../core/identity/users.ts';
import { getWorkspaceRow, graceDays, lockWorkspace, saveWorkspace } from '../../core/identity/workspaces.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type OperatorChange,
  type OperatorWorkspaceRow,
  presentOperatorWorkspace,
  presentWorkspace,
  type WorkspaceRow,
} from './contract.ts';
import { getOperatorWorkspace, lockOperatorWorkspace } from './store/operators.ts';

export interface WorkspaceDeps {
  readonly defaultPlan: Plan;
  readonly onlyOperatorsCreate: boolean;
  readonly baseUrl: string;
  readonly storage: StorageQuota;
  readonly campaigns: CampaignStops;
  /** Further changes made in the same transaction when a workspace is deleted. */
  readonly onDelete: readonly OnDelete[];
}

type OnDelete = (db: Db, access: WorkspaceAccess, now: Date) => Promise<void>;

/** Stops a workspace's campaigns before it is deleted (features/ads). */
export interface CampaignStops {
  /** Runs outside the transaction, because it waits for the ad platform. */
  stopWorkspace(db: Db, access: WorkspaceAccess, now: Date): Promise<void>;
  requireWorkspaceStopped(db: Db, access: WorkspaceAccess, now: Date): Promise<void>;
}

export async function createWorkspace(
  db: Db,
  deps: WorkspaceDeps,
  access: SelfAccess,
  input: { name: string; country_code?: string },
  now: Date,
) {
  const { caller } = access;
  if (deps.onlyOperatorsCreate && !caller.is_operator) {
    throw new Problem(
      'forbidden',
      'operator_required',
      'On this installation, only operators can create workspaces, and only in a browser session. Ask an operator.',
    );
  }
  // Credits pay for the operator's language model, so only an operator can grant them to a workspace.
  const terms = caller.is_operator ? { plan: deps.defaultPlan } : ({ plan: 'free', monthly_limit: 0 } as const);
  return transaction(db, async (db) => {
    const id = await insertWorkspace(db, { ...input, ...terms, owner_id: getCallingUser(access).id }, now);
    const owner = issueForNewWorkspace(access, id, terms.plan);
    await audit(db, owner, { type: 'workspace.created', target: { kind: 'workspace', id }, after: input }, now);
    return presentWorkspace(await getWorkspaceRow(db, owner), 'owner');
  });
}

export async function changeWorkspace(
  db: Db,
  access: WorkspaceAccess,
  change: Partial<Pick<WorkspaceRow, 'name' | 'country_code' | 'locale' | 'guest_invitations'>>,
  now: Date,
) {
  return transaction(db, async (db) => {
    const current = await lockWorkspace(db, access);
    const before = previousValues(current, change);
    if (isDeepStrictEqual(before, change)) return unchanged(presentWorkspace(current, access.role));
    const row = await saveWorkspace(db, access.workspace_id, { ...change, updated_date: now });
    await audit(db, access, { type: 'workspace.updated', target: targetOf(row), before, after: change }, now);
    return presentWorkspace(row, access.role);
  });
}

/**
 * Makes the workspace inaccessible to everyone. An operator can restore it within 30 days, after which it is purged.
 */
export async function deleteWorkspace(
  db: Db,
  { campaigns, onDelete }: Pick<WorkspaceDeps, 'campaigns' | 'onDelete'>,
  access: WorkspaceAccess,
  confirmName: string,
  now: Date,
) {
  requireName(await getWorkspaceRow(db, access), confirmName);
  await campaigns.stopWorkspace(db, access, now);
  return transaction(db, async (db) => {
    const row = await getWorkspaceRow(db, access);
    requireName(row, confirmName);
    await campaigns.requireWorkspaceStopped(db, access, now);
    for (const change of onDelete) await change(db, access, now);
    await saveWorkspace(db, row.id, { deleted_date: now, updated_date: now });
    await audit(db, access, { type: 'workspace.deleted', target: targetOf(row), before: { name: row.name } }, now);
    const purgeAt = new Date(now.getTime() + graceDays * 24 * 60 * 60 * 1000);
    return { success: true, purge_at: purgeAt.toISOString() } as const;
  });
}

function requireName({ name }: WorkspaceRow, confirmName: string): void {
  if (name !== confirmName)
    throw new ValidationError([
      { loc: ['body', 'confirm_name'], msg: "must match the workspace's name", type: 'value_error' },
    ]);
}

export type OperatorWorkspaceAccess = SelfAccess & { readonly workspace: OperatorWorkspaceRow };

export async function updateOperatorWorkspace(
  db: Db,
  access: OperatorWorkspaceAccess,
  change: OperatorChange,
  now: Date,
) {
  const { workspace } = access;
  // A change of plan resets the monthly credits to the new plan's, unless the change sets them explicitly.
  const credits =
    change.plan !== undefined && change.monthly_limit === undefined
      ? { monthly_limit: monthlyCredits[change.plan] }
      : {};
  const features = change.features && JSON.stringify({ ...(workspace.features as object), ...change.features });
  const after = { ...change, ...credits };
  return transaction(db, async (db) => {
    const locked = await lockOperatorWorkspace(db, access, workspace.id);
    const all = { ...previousValues(locked, after), features: locked.features };
    const isSame = isDeepStrictEqual(all, {
      ...after,
      features: { ...(locked.features as object), ...change.features },
    });
    if (isSame) return unchanged(presentOperatorWorkspace(locked));
    await saveWorkspace(db, workspace.id, { ...change, ...credits, features, updated_date: now });
    if (after.monthly_limit !== undefined) await syncPoolLimit(db, workspace.id, now);
    await auditOperator(
      db,
      access,
      workspace.id,
      {
        type: 'operator.workspace_changed',
        target: targetOf(workspace),
        before: previousValues(workspace, after),
        after,
      },
      now,
    );
    return presentOperatorWorkspace(await getOperatorWorkspace(db, access, workspace.id));
  });
}

export async function grantCredits(
  db: Db,
  access: OperatorWorkspaceAccess,
  input: { amount: number; note: string },
  now: Date,
) {
  const { workspace, caller } = access;
  return transaction(db, async (db) => {
    const row = await grant(db, workspace.id, { ...input, user_id: caller.user_id }, now);
    const after = { ...input, balance_after: row.balance_after };
    await auditOperator(db, access, workspace.id, { type: 'credits.granted', target: targetOf(workspace), after }, now);
    return presentLedgerRow(row);
  });
}

const targetOf = (row: { id: string }) => ({ kind: 'workspace', id: row.id });

const previousValues = (row: object, change: object) =>
  Object.fromEntries(Object.keys(change).map((field) => [field, (row as Record<string, unknown>)[field] ?? null]));
