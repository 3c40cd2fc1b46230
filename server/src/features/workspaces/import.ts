// Imports an archive as a new workspace (docs/api/workspaces.md#export-and-import). An archive may come from any
// source, so every row is checked as if it came through the API. Every id must refer to a row in the archive, so an
// import can't affect anything outside the new workspace.
import { z } from 'zod';
import { auditService } from '../../core/audit/audit.ts';
import type { Plan } from '../../core/auth/plans.ts';
import { startOfMonth } from '../../core/credits/pool.ts';
import { listMismatches } from '../../core/credits/reconciliation.ts';
import { withdrawGrants } from '../../core/credits/reservations.ts';
import { insertMissingRevisions } from '../../core/identity/revisions.ts';
import { insertUser } from '../../core/identity/users.ts';
import { countImportedRecords } from '../../core/storage/usage.ts';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import {
  anySize,
  checkArchive,
  defaultLimits,
  type Row,
  type RowBatch,
  readRows,
} from '../../kit/archive/read-archive.ts';
import { createRowReader, type RowReader } from '../../kit/archive/row-reader.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { type ArchiveTables, describeTable, peopleTable } from './archive-rows.ts';
import { parts } from './parts.ts';
import {
  continueConversations,
  insertImportedRows,
  listInconsistencies,
  listPoolMonths,
  listTakenSlugs,
  listUsersByEmail,
  removeNewUsers,
  resetPlan,
} from './store/imports.ts';

export interface ImportOptions {
  readonly defaultPlan: Plan;
  /** Keeps the archive's plan, limits and billing hold. Otherwise this installation's default plan applies. */
  readonly keepPlan?: boolean;
  /** Imports the workspace without its audit log, whose chain may be broken. */
  readonly skipAuditLog?: boolean;
  /** Accepts an archive of any size. */
  readonly anySize?: boolean;
}

export interface ImportResult {
  readonly workspace_id: string;
  /** The number of rows that were imported, by table. */
  readonly counts: Readonly<Record<string, number>>;
  /** The number of rows that were left out, by table, because they refer to something that was removed during the export. */
  readonly skipped: Readonly<Record<string, number>>;
  /** How many people already had an account, and how many accounts were created. */
  readonly people: { readonly found: number; readonly created: number };
}

const auditTables = ['audit_chains', 'audit_entries'];
const tableNames = [peopleTable, ...parts.map((part) => part.table)];

const TableTimes = z.strictObject({ first_at: z.string(), last_at: z.string(), rows: z.number() });

const About = z.strictObject({
  workspace_id: z.string(),
  exported_at: z.string(),
  // Older archives have none: all of their tables were read at the same time.
  consistency: z.string().optional(),
  started_at: z.string().optional(),
  ended_at: z.string().optional(),
  per_table: z.record(z.string(), TableTimes).optional(),
  secret_names: z.array(z.strictObject({ app_id: z.string(), name: z.string() })),
  left_out: z.array(z.string()),
});

/**
 * Imports an archive as a new workspace with new ids, completely or not at all. People are found by their e-mail
 * address, or created without a password. Throws an ArchiveError if the archive is not in the export format.
 */
export async function importWorkspace(
  db: Db,
  file: string,
  tables: ArchiveTables,
  options: ImportOptions,
  now: Date,
): Promise<ImportResult> {
  const limits = options.anySize ? anySize : defaultLimits;
  const { format: _, tables: files, ...rest } = await checkArchive(file, tableNames, limits);
  const about = About.safeParse(rest);
  if (!about.success) throw new ArchiveError('manifest.json is not in the export format');
  const from = about.data.workspace_id;
  const leftOut = options.skipAuditLog ? auditTables : [];
  return transaction(db, async (db) => {
    const workspaceId = newId();
    const reader = createRowReader(tables, workspaceId, { skipsDangling: about.data.consistency !== undefined });
    const accounts = { found: 0, created: new Set<string>() };
    for await (const batch of readRows(file, tableNames, limits)) {
      if (leftOut.includes(batch.table)) continue;
      if (batch.table === 'workspaces' && batch.rows[0]?.id !== from)
        throw new ArchiveError('its workspace is not the one named in manifest.json');
      if (batch.table === peopleTable) await importPeople(db, reader, batch, accounts, now);
      else await importRows(db, reader, batch, now);
    }
    for (const table of tableNames) if (!leftOut.includes(table)) describeTable(tables, table).end?.();
    const unused = reader.listUnused().filter((id) => accounts.created.has(id));
    await removeNewUsers(db, unused);
    const people = { found: accounts.found, created: accounts.created.size - unused.length };
    await continueConversations(db, workspaceId);
    await refuseInconsistent(db, workspaceId, now);
    await countImportedRecords(db, workspaceId);
    await insertMissingRevisions(db, workspaceId); // older archives have none
    if (!options.keepPlan) {
      await resetPlan(db, workspaceId, options.defaultPlan);
      await withdrawGrants(db, workspaceId, now);
    }
    const counts = Object.fromEntries(
      Object.entries(files)
        .filter(([table]) => table !== peopleTable && !leftOut.includes(table))
        .map(([table, parts]) => [
          table,
          parts.reduce((sum, part) => sum + part.rows, 0) - (reader.skipped[table] ?? 0),
        ]),
    );
    const { skipped } = reader;
    const target = { kind: 'workspace', id: workspaceId };
    const after = {
      from,
      counts,
      people,
      ...(Object.keys(skipped).length > 0 && { skipped }),
      ...(options.skipAuditLog && { audit_log: 'left out' }),
    };
    await auditService(db, workspaceId, { type: 'workspace.imported', target, after }, now);
    return { workspace_id: workspaceId, counts, skipped, people };
  });
}

/**
 * Rejects an account that has a password but an unverified address, because its owner may not be the person in the
 * archive.
 */
async function importPeople(
  db: Db,
  reader: RowReader,
  batch: RowBatch,
  accounts: { found: number; readonly created: Set<string> },
  now: Date,
): Promise<void> {
  const people = reader.check(batch) as { id: string; email: string; full_name: string }[];
  const emails = people.map((person) => person.email);
  const existing = new Map((await listUsersByEmail(db, emails)).map((account) => [account.email, account]));
  for (const { id, email, full_name } of people) {
    const account = existing.get(email);
    if (account?.is_unproven)
      throw new ArchiveError(
        `it contains the person ${email}, but the account with this e-mail address has not been verified as theirs. Send them the link that "npm run plinth -- user reset --user ${email}" prints. Once they have set a password with it, repeat the import`,
      );
    const userId = account?.id ?? (await insertUser(db, { email, full_name, email_verified: false }, now));
    if (account === undefined) accounts.created.add(userId);
    else accounts.found += 1;
    existing.set(email, { id: userId, email, is_unproven: false });
    reader.learn(peopleTable, id, userId);
  }
}

async function importRows(db: Db, reader: RowReader, batch: RowBatch, now: Date): Promise<void> {
  const { table } = batch;
  let rows = reader.replaceIds(table, reader.check(batch));
  if (rows.length === 0) return;
  // Imported webhooks are disabled, because they have no secret.
  if (table === 'webhooks') rows = rows.map((row) => ({ ...row, disabled_at: row.disabled_at ?? now.toISOString() }));
  if (table === 'apps') rows = await replaceTakenSlugs(db, rows);
  await insertImportedRows(db, table, Object.keys(rows[0] ?? {}), rows).catch((error) => {
    throw toArchiveError(error, batch);
  });
}

async function replaceTakenSlugs(db: Db, apps: readonly Row[]): Promise<Row[]> {
  const taken = await listTakenSlugs(
    db,
    apps.map(({ id, slug }) => ({ id: String(id), slug: String(slug) })),
  );
  return apps.map((app) =>
    taken.has(String(app.slug)) ? { ...app, slug: `${String(app.slug).slice(0, 56)}-${newId().slice(-6)}` } : app,
  );
}

/**
 * Converts the error for a violated database constraint that our own checks missed. The original error text could
 * contain the row.
 */
function toArchiveError(error: unknown, { table, file, firstLine, rows }: RowBatch): unknown {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (!/^2[23]/.test(code ?? '')) return error;
  const lines = `${file} lines ${firstLine} to ${firstLine + rows.length - 1}`;
  return new ArchiveError(`${lines}: the database rejected these rows of ${table} (${constraint ?? code})`);
}

/**
 * Rejects an inconsistent workspace, including pools that do not match the ledger, which the nightly check would
 * otherwise keep reporting.
 */
async function refuseInconsistent(db: Db, workspace_id: string, now: Date): Promise<void> {
  const [found] = await listInconsistencies(db, workspace_id, startOfMonth(now));
  if (found !== undefined) throw new ArchiveError(`it is inconsistent: ${found}`);
  for (const period_start of await listPoolMonths(db, workspace_id)) {
    const mismatches = await listMismatches(db, { workspace_id, period_start });
    if (mismatches.length > 0) throw new ArchiveError('it is inconsistent: its credit pools do not match its ledger');
  }
}
