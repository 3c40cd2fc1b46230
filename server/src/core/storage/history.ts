// Gives up kept revisions of apps: those that are no longer kept anyway, and the oldest ones when a workspace's quota is
// full. A revision whose contents are gone says so (`is_kept`) before anything is removed, or in the same transaction.
//
// Worked example: the app is at revision 60 and keeps 1 to 60. 3 MB are missing. What only revisions before 12 need takes
// 2.9 MB, and what only those before 13 need 3.1 MB, so revisions 1 to 12 are given up. The last 20, from 41 on, stay.
import { sql } from 'kysely';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

/** These are kept even if the quota is full. */
const alwaysKept = 20;

const batch = { versions: 500, bytes: 64 * 1024 * 1024 };

/**
 * Removes a batch of versions that only revisions before `keptFrom` need, and the contents that no other version needs.
 * Returns how many versions it removed. The app's row must be locked.
 */
export async function removePastVersions(db: Db, appId: string, keptFrom: number): Promise<number> {
  const { rows } = await sql<{ sha256: string }>`with oldest as (
      select kind, name, until_revision, size from app_past_versions
      where app_id = ${appId} and until_revision <= ${keptFrom} order by until_revision limit ${batch.versions}),
    summed as (
      select *, sum(size) over (order by until_revision, kind, name) - size as bytes_before from oldest)
    delete from app_past_versions v using summed s
    where v.app_id = ${appId} and s.bytes_before < ${batch.bytes}
      and v.kind = s.kind and v.name = s.name and v.until_revision = s.until_revision
    returning v.sha256`.execute(db);
  const hashes = [...new Set(rows.map(({ sha256 }) => sha256))];
  if (hashes.length > 0)
    await sql`delete from app_past_contents c where c.app_id = ${appId} and c.sha256 = any(${hashes}::text[])
      and not exists (select from app_past_versions v where v.app_id = ${appId} and v.sha256 = c.sha256)`.execute(db);
  return rows.length;
}

/** Apps are read in pages. A search that would need more of them fails. */
const search = { appsPerPage: 10, pages: 20 };

interface Sacrifice {
  readonly appId: string;
  /** The first revision that stays. */
  readonly keptFrom: number;
}

/**
 * Gives up the workspace's oldest revisions beyond the last 20 of each app until `bytes` are free. If that would not be
 * enough, returns false and changes nothing. Apps that another transaction is changing are left out.
 */
export function freeHistory(db: Db, workspaceId: string, bytes: number): Promise<boolean> {
  return transaction(db, async (db) => {
    const sacrifices = await chooseSacrifices(db, workspaceId, bytes);
    if (sacrifices === undefined) return false;
    for (const { appId, keptFrom } of sacrifices) await dropRevisions(db, appId, keptFrom);
    return true;
  });
}

/** Undefined if giving up everything would not be enough. */
async function chooseSacrifices(db: Db, workspaceId: string, bytes: number): Promise<Sacrifice[] | undefined> {
  let missing = bytes;
  const sacrifices: Sacrifice[] = [];
  const seen: string[] = [];
  for (let page = 0; page < search.pages; page += 1) {
    const apps = await listAppsByAge(db, workspaceId, seen);
    for (const { id, revision } of apps) {
      seen.push(id);
      const steps = await listSteps(db, id, revision - alwaysKept + 1);
      const step = steps.find(({ total }) => total >= missing) ?? steps.at(-1);
      if (step === undefined) continue;
      sacrifices.push({ appId: id, keptFrom: step.until_revision });
      missing -= step.total;
      if (missing <= 0) return sacrifices;
    }
    if (apps.length < search.appsPerPage) return undefined;
  }
  return undefined;
}

/**
 * Locks and lists apps that have something to give up beyond the last 20 revisions, the one with the oldest revision
 * first, without those that were seen already.
 */
async function listAppsByAge(
  db: Db,
  workspaceId: string,
  seen: readonly string[],
): Promise<{ id: string; revision: number }[]> {
  const { rows } = await sql<{ id: string; revision: number }>`select a.id, a.revision from apps a
    join lateral (select r.created_date from app_revisions r
      where r.app_id = a.id and r.is_kept and r.revision <= a.revision - ${alwaysKept}
      order by r.revision limit 1) oldest on true
    where a.workspace_id = ${workspaceId} and a.id <> all(${[...seen]}::uuid[])
      and exists (select from app_past_versions v
        where v.app_id = a.id and v.until_revision <= a.revision - ${alwaysKept - 1})
    order by oldest.created_date, a.id limit ${search.appsPerPage}
    for no key update of a skip locked`.execute(db);
  return rows;
}

/** Lists how many bytes would be free in total if the app kept its revisions only from `until_revision` on. */
async function listSteps(db: Db, appId: string, max: number): Promise<{ until_revision: number; total: number }[]> {
  const { rows } = await sql<{ until_revision: number; total: number }>`with freed as (
      select max(until_revision) as until_revision, 150 + max(size) as bytes from app_past_versions
      where app_id = ${appId} group by sha256
      union all select until_revision, 200 + octet_length(name) from app_past_versions where app_id = ${appId}),
    steps as (select until_revision, sum(bytes) as bytes from freed where until_revision <= ${max} group by 1)
    select until_revision, sum(bytes) over (order by until_revision) as total from steps order by 1`.execute(db);
  return rows;
}

async function dropRevisions(db: Db, appId: string, keptFrom: number): Promise<void> {
  await sql`update app_revisions set is_kept = false
    where app_id = ${appId} and revision < ${keptFrom} and is_kept`.execute(db);
  while ((await removePastVersions(db, appId, keptFrom)) > 0);
}
