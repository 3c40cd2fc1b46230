// Owns what is stored of a trigger beside itself: what it waits for, and its next tick.
import { findNextTick } from '../../../kit/schedule/index.ts';
import type { Trigger } from '../definition/trigger.ts';
import type { WorkflowRow } from '../store/rows.ts';

/** What an event is compared with: the name of an entity, the id of an agent, or the type of an emitted event. */
export function toTriggerKey({ config }: Trigger): string | null {
  switch (config.trigger_type) {
    case 'entity':
      return config.entity_name;
    case 'agent_message':
      return config.agent_id;
    case 'event':
      return config.type;
    default:
      return null;
  }
}

type Activation = Pick<WorkflowRow, 'status' | 'status_reason' | 'next_tick_at'>;

/**
 * The columns of a workflow that is active from now on, if its trigger can still start a run: a schedule that has no more ticks
 * makes it inactive at once.
 */
export function activate(trigger: Trigger, ticks: number, now: Date): Activation {
  if (trigger.config.trigger_type !== 'scheduled') return { status: 'active', status_reason: null, next_tick_at: null };
  const next_tick_at = findNextTick(trigger.config, ticks, now);
  return next_tick_at === null ? ended : { status: 'active', status_reason: null, next_tick_at };
}

export const ended: Activation = { status: 'inactive', status_reason: 'end_condition_reached', next_tick_at: null };
