// Owns the end of loops: automations and workflows whose changes would trigger each other forever
// (docs/api/automations.md#loops). A change that they made counts how many of them are between a person's change and it.
import { afterCommit } from '../../kit/db/database.ts';
import { LatestMap } from '../../kit/latest-map.ts';
import type { Db } from '../../tables.ts';
import { auditService } from './audit.ts';

/** A change of a greater depth triggers nothing. */
export const maxDepth = 5;

/** What a change that was too deep would have triggered. */
export interface StoppedLoop {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly target: { readonly kind: 'automation' | 'workflow'; readonly id: string };
}

const minuteMs = 60 * 1000;
const auditedAt = new LatestMap<string, number>(10_000);

/**
 * Audits each automation and workflow that was not started. A loop can come back many times a second, so that each has at most
 * one entry per minute; the dispatcher of events is one process at a time, so it remembers them itself.
 */
export async function auditLoopStopped(db: Db, stopped: readonly StoppedLoop[], now: Date): Promise<void> {
  const byTarget = new Map(stopped.map((loop) => [loop.target.id, loop]));
  for (const [id, { workspace_id, app_id, target }] of byTarget) {
    if (now.getTime() - (auditedAt.get(id) ?? Number.NEGATIVE_INFINITY) < minuteMs) continue;
    const after = { max_depth: maxDepth };
    await auditService(db, workspace_id, { type: 'automation.loop_stopped', target, app_id, after }, now);
    // Not before: if this is rolled back, the same events are handled again.
    afterCommit(db, () => auditedAt.set(id, now.getTime()));
  }
}
