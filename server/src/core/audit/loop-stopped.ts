// Stops loops, in which automations and workflows would keep triggering each other
// (docs/api/automations.md#loops). A change's depth is the number of automations and workflows between it and the
// person's change that started the chain.
import { afterCommit } from '../../kit/db/database.ts';
import { LatestMap } from '../../kit/latest-map.ts';
import type { Db } from '../../tables.ts';
import { auditService } from './audit.ts';

/** A change deeper than this triggers nothing. */
export const maxDepth = 5;

/** An automation or workflow that was not triggered, because the change was too deep. */
export interface StoppedLoop {
  readonly workspace_id: string;
  readonly app_id: string;
  readonly target: { readonly kind: 'automation' | 'workflow'; readonly id: string };
}

const minuteMs = 60 * 1000;
const auditedAt = new LatestMap<string, number>(10_000);

/**
 * Audits every automation and workflow that was not started. A loop can repeat many times a second, so each automation
 * and workflow gets at most one entry per minute. An in-memory map is enough to enforce this limit, because only one
 * process dispatches events at a time.
 */
export async function auditLoopStopped(db: Db, stopped: readonly StoppedLoop[], now: Date): Promise<void> {
  const byTarget = new Map(stopped.map((loop) => [loop.target.id, loop]));
  for (const [id, { workspace_id, app_id, target }] of byTarget) {
    if (now.getTime() - (auditedAt.get(id) ?? Number.NEGATIVE_INFINITY) < minuteMs) continue;
    const after = { max_depth: maxDepth };
    await auditService(db, workspace_id, { type: 'automation.loop_stopped', target, app_id, after }, now);
    // Set only after the commit, because the dispatcher handles the same events again after a rollback.
    afterCommit(db, () => auditedAt.set(id, now.getTime()));
  }
}
