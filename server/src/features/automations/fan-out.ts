// The fan-out, which starts a run of each automation that waits for a changed record. The runs evaluate the
// conditions later, because the single event dispatcher must not wait for a tenant's expression.
import { auditLoopStopped, maxDepth } from '../../core/audit/loop-stopped.ts';
import type { RecordEvent } from '../../events.ts';
import type { Event } from '../../kit/background/events/dispatch.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { EventType } from './contract.ts';
import { insertRuns, type ListeningAutomation } from './store/runs.ts';

const eventTypes: Readonly<Record<string, EventType>> = {
  'entity.created': 'create',
  'entity.updated': 'update',
  'entity.deleted': 'delete',
};

/**
 * An automation never reacts to an event that occurred before the automation was created, even if the event is
 * dispatched later.
 */
const isWaitingFor = (
  { entity_name, event_types, created_date }: ListeningAutomation,
  { name, occurred_at, payload }: Event<RecordEvent>,
): boolean =>
  entity_name === payload.entity_name &&
  occurred_at >= created_date &&
  (event_types ?? []).some((type) => type === eventTypes[name]);

/** Handles one batch of events. Returns the number of runs that are due now. */
export async function startRuns(
  db: Db,
  events: readonly Event<RecordEvent>[],
  listening: readonly ListeningAutomation[],
  now: Date,
): Promise<number> {
  if (listening.length === 0) return 0;
  const byApp = Map.groupBy(listening, (automation) => automation.app_id);
  const pairs = events.flatMap((event) =>
    (byApp.get(event.payload.app_id) ?? [])
      .filter((automation) => isWaitingFor(automation, event))
      .map((automation) => ({ automation, event })),
  );
  const [tooDeep, runs] = [true, false].map((isTooDeep) =>
    pairs.filter(({ event }) => event.payload.depth > maxDepth === isTooDeep),
  ) as [typeof pairs, typeof pairs];
  await auditLoopStopped(
    db,
    tooDeep.map(({ automation: { workspace_id, app_id, id } }) => ({
      workspace_id,
      app_id,
      target: { kind: 'automation', id },
    })),
    now,
  );
  await insertRuns(
    db,
    runs.map(({ automation: { workspace_id, app_id, id: automation_id }, event }) => ({
      id: newId(),
      workspace_id,
      app_id,
      automation_id,
      event_id: event.id,
      depth: event.payload.depth,
    })),
    now,
  );
  return runs.length;
}
