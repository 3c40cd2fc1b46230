// Owns importing an archive as a new workspace (docs/api/workspaces.md#export-and-import).
import { auditService } from '../../core/audit/audit.ts';
import type { Plan } from '../../core/auth/plans.ts';
import { listMismatches } from '../../core/credits/reconciliation.ts';
import { withdrawGrants } from '../../core/credits/reservations.ts';
import { countImportedRecords } from '../../core/storage/usage.ts';
import { type Row, readArchive } from '../../kit/archive.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { type ArchivePart, parts } from './parts.ts';
import { findOrInsertUser, insertImportedRow, isSlugTaken, resetPlan } from './store.ts';

export interface ImportOptions {
  readonly defaultPlan: Plan;
  /** Keep plan, limits and billing hold of the archive. Otherwise this installation's default plan applies. */
  readonly keepPlan: boolean;
}

type Tables = ReadonlyMap<string, readonly Row[]>;

/** What each id of the archive becomes. */
interface NewIds {
  readonly workspaceId: string;
  /** The workspace's rows: apps, folders, conversations, … */
  readonly rows: ReadonlyMap<string, string>;
  /** Users, by their e-mail address. */
  readonly users: ReadonlyMap<string, string>;
}

/**
 * Restores an archive as a new workspace, all or nothing. Ids are new; users are found by e-mail address or created without a
 * password. Archives are untrusted: every id must refer to something in the archive, so that an import can't touch anything
 * outside the new workspace.
 */
export async function importWorkspace(db: Db, file: string, options: ImportOptions, now: Date) {
  const { manifest, tables } = await readArchive(file);
  return transaction(db, async (db) => {
    const users = new Map<string, string>();
    for (const person of manifest.people as { id: string; email: string; full_name: string }[]) {
      users.set(person.id, await findOrInsertUser(db, person, now));
    }
    const rows = assignNewIds(tables);
    const workspaceId = rows.get(String(manifest.workspace_id));
    const [workspace, ...others] = tables.get('workspaces') ?? [];
    if (workspaceId === undefined || workspace?.id !== manifest.workspace_id || others.length > 0) {
      throw new Error('the archive does not contain exactly one workspace');
    }
    await insertParts(db, tables, { workspaceId, rows, users }, now);
    await refuseUnbalancedCredits(db, workspaceId, tables);
    await countImportedRecords(db, workspaceId);
    if (!options.keepPlan) {
      await resetPlan(db, workspaceId, options.defaultPlan);
      await withdrawGrants(db, workspaceId, now);
    }
    const counts = Object.fromEntries([...tables].map(([table, rows]) => [table, rows.length]));
    const target = { kind: 'workspace', id: workspaceId };
    const after = { from: manifest.workspace_id, counts };
    await auditService(db, workspaceId, { type: 'workspace.imported', target, after }, now);
    return { workspace_id: workspaceId, counts };
  });
}

async function insertParts(db: Db, tables: Tables, newIds: NewIds, now: Date): Promise<void> {
  for (const part of parts) {
    for (const row of tables.get(part.table) ?? []) {
      const next = remapRow(part, row, newIds);
      if (part.table === 'audit_chains') next.chain_id = newId();
      if (part.table === 'webhooks') next.disabled_at ??= now.toISOString();
      if (part.table === 'apps' && (await isSlugTaken(db, String(next.slug)))) {
        next.slug = `${String(next.slug).slice(0, 56)}-${newId().slice(-6)}`;
      }
      await insertImportedRow(db, part, next);
    }
  }
}

/** Refuses pools that do not match the ledger, which the nightly check would otherwise report for ever. */
async function refuseUnbalancedCredits(db: Db, workspace_id: string, tables: Tables): Promise<void> {
  for (const pool of tables.get('credit_pools') ?? []) {
    const found = await listMismatches(db, { workspace_id, period_start: new Date(String(pool.period_start)) });
    if (found.length > 0) throw new Error('the archive is inconsistent: its credit pools do not match its ledger');
  }
}

/** Tables whose ids other rows refer to. */
const tablesWithNewIds = [
  'workspaces',
  'apps',
  'app_users',
  'folders',
  'agent_conversations',
  'agent_messages',
  'agent_memories',
  'webhooks',
  'credit_ledger',
];

function assignNewIds(tables: Tables): Map<string, string> {
  const oldIds = tablesWithNewIds.flatMap((table) => (tables.get(table) ?? []).map((row) => String(row.id)));
  return new Map(oldIds.map((id) => [id, newId()]));
}

/**
 * Returns the row with new ids. With app a1 → a9 and user u1 → u9, a row of `app_shares` changes like this:
 *
 *   { workspace_id: w1, app_id: a1, user_id: u1, role: viewer }
 *   { workspace_id: w9, app_id: a9, user_id: u9, role: viewer }
 *
 * The content of audit entries keeps the old ids, because their hashes cover it.
 */
function remapRow(part: ArchivePart, row: Row, newIds: NewIds): Row {
  const columns = Object.entries(row).filter(([column]) => !part.omit?.includes(column));
  return Object.fromEntries(columns.map(([column, value]) => [column, remapValue(part, column, value, newIds)]));
}

function remapValue(part: ArchivePart, column: string, value: unknown, { workspaceId, rows, users }: NewIds): unknown {
  if (column === 'workspace_id') return workspaceId;
  if (!/(^|_)id$/.test(column) || part.verbatim?.includes(column)) return value;
  if (value === null) return null;
  if (part.principalIds?.includes(column)) return users.get(String(value)) ?? rows.get(String(value)) ?? value;
  const newId = (part.userIds?.includes(column) ? users : rows).get(String(value));
  if (newId !== undefined) return newId;
  // The ledger and the audit log may refer to what was deleted; everything else must be in the archive.
  if (part.nullIfMissing?.includes(column)) return null;
  throw new Error(`the archive is inconsistent: ${part.table}.${column} refers to something that is not in it`);
}
