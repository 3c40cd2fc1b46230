// Owns creating, changing and deleting workspaces, and what operators set for them.
import { audit, auditOperator } from '../../core/audit/audit.ts';
import { issueForNewWorkspace } from '../../core/auth/new-workspace.ts';
import { monthlyCredits, type Plan } from '../../core/auth/plans.ts';
import type { SelfAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { presentLedgerRow } from '../../core/credits/ledger.ts';
import { grant, syncPoolLimit } from '../../core/credits/reservations.ts';
import { getCallingUser } from '../../core/identity/accounts.ts';
import { insertWorkspace } from '../../core/identity/users.ts';
import { getWorkspaceRow, graceDays, saveWorkspace } from '../../core/identity/workspaces.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { transaction } from '../../kit/db/database.ts';
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
import { getOperatorWorkspace } from './store.ts';

export interface WorkspaceDeps {
  readonly defaultPlan: Plan;
  readonly onlyOperatorsCreate: boolean;
  readonly baseUrl: string;
  readonly storage: StorageQuota;
  readonly campaigns: CampaignStops;
  /** What else happens to a workspace that is deleted, in the same transaction. */
  readonly onDelete: readonly OnDelete[];
}

type OnDelete = (db: Db, access: WorkspaceAccess, now: Date) => Promise<void>;

/** What happens to the campaigns of a workspace that is deleted (features/ads). */
export interface CampaignStops {
  /** Outside of the transaction: it waits for the ad platform. */
  stopWorkspace(db: Db, access: WorkspaceAccess, now: Date): Promise<void>;
  requireWorkspaceStopped(db: Db, access: WorkspaceAccess, now: Date): Promise<void>;
}

export async function createWorkspace(
  db: Db,
  access: SelfAccess,
  input: { name: string; country_code?: string },
  deps: WorkspaceDeps,
  now: Date,
) {
  const { caller } = access;
  if (deps.onlyOperatorsCreate && !caller.is_operator) {
    throw new Problem(
      'forbidden',
      'operator_required',
      'Only operators can create workspaces on this installation, in a browser session. Ask an operator.',
    );
  }
  // Credits pay for the operator's language model, so only an operator gives them to a workspace.
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
  change: Partial<Pick<WorkspaceRow, 'name' | 'country_code' | 'locale'>>,
  now: Date,
) {
  return transaction(db, async (db) => {
    const before = await getWorkspaceRow(db, access);
    const row = await saveWorkspace(db, access.workspace_id, { ...change, updated_date: now });
    await audit(
      db,
      access,
      { type: 'workspace.updated', target: targetOf(row), before: previousValues(before, change), after: change },
      now,
    );
    return presentWorkspace(row, access.role);
  });
}

/** Nobody can reach the workspace any more. It is purged after 30 days; until then an operator can restore it. */
export async function deleteWorkspace(
  db: Db,
  access: WorkspaceAccess,
  { campaigns, onDelete }: Pick<WorkspaceDeps, 'campaigns' | 'onDelete'>,
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
      { loc: ['body', 'confirm_name'], msg: 'must match the name of the workspace', type: 'value_error' },
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
  // A new plan sets its monthly credits, unless the change sets them too.
  const credits =
    change.plan !== undefined && change.monthly_limit === undefined
      ? { monthly_limit: monthlyCredits[change.plan] }
      : {};
  const features = change.features && JSON.stringify({ ...(workspace.features as object), ...change.features });
  return transaction(db, async (db) => {
    await saveWorkspace(db, workspace.id, { ...change, ...credits, features, updated_date: now });
    const after = { ...change, ...credits };
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
