// Audits record writes by members and workspace keys (docs/api/audit-log.md#record-writes). An entry for every
// write would be too expensive, so write events are counted in batches, and a single entry reports the total.
import { auditAfterwards } from '../../../core/audit/audit.ts';
import type { RecordEvent } from '../../../events.ts';
import type { Event } from '../../../kit/background/events/dispatch.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { addWriteCounts, takeWriteCounts, type WriteCount } from './store/write-counts.ts';

/** Counts a batch of events. The counts commit together with the batch, so each event is counted exactly once. */
export async function countWrites(db: Db, events: readonly Event<RecordEvent>[]): Promise<void> {
  const byAuthor = Map.groupBy(
    events.filter(({ payload }) => payload.credential_id),
    ({ payload }) => `${payload.credential_id} ${payload.app_id} ${payload.entity_name}`,
  );
  const counts = [...byAuthor.values()].flatMap((written) => sumUp(written) ?? []);
  if (counts.length > 0) await addWriteCounts(db, counts);
}

/** Counts one credential's events for one entity. */
function sumUp(events: readonly Event<RecordEvent>[]): WriteCount | undefined {
  const [first] = events;
  if (!first?.payload.credential_id) return undefined;
  const { workspace_id, credential_id, app_id, entity_name, actor } = first.payload;
  const countOf = (name: string) => events.filter((event) => event.name === name).length;
  const times = events.map(({ occurred_at }) => occurred_at.getTime());
  return {
    workspace_id,
    credential_id,
    app_id,
    entity_name,
    user_id: actor?.id ?? null,
    email: actor?.email ?? null,
    created: countOf('entity.created'),
    updated: countOf('entity.updated'),
    deleted: countOf('entity.deleted'),
    first_at: new Date(Math.min(...times)),
    last_at: new Date(Math.max(...times)),
  };
}

const windowMs = 5 * 60 * 1000;
const countsPerBatch = 500;
const batchesPerRun = 20;

/** Writes audit entries for counts that were started at least five minutes ago. Returns the number of entries. */
export async function auditCountedWrites(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - windowMs);
  let audited = 0;
  for (let batch = 0; batch < batchesPerRun; batch += 1) {
    const some = await transaction(db, async (db) => {
      const counts = await takeWriteCounts(db, before, countsPerBatch);
      for (const count of counts) await auditCount(db, count);
      return counts.length;
    });
    audited += some;
    if (some < countsPerBatch) break;
  }
  return audited;
}

function auditCount(db: Db, count: WriteCount): Promise<void> {
  const { workspace_id, credential_id, app_id, entity_name, user_id, email, created, updated, deleted } = count;
  const person = user_id === null ? null : { id: user_id, email: email ?? '' };
  const after = { created, updated, deleted, first_at: count.first_at.toISOString() };
  const change = { type: 'record.written' as const, target: { kind: 'entity', id: entity_name }, app_id, after };
  return auditAfterwards(db, { workspace_id, credential_id, person }, change, count.last_at);
}
