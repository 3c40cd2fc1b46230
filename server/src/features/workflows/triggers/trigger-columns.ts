// The columns derived from a trigger: its key and its next tick.
import { findNextTick } from '../../../kit/schedule/index.ts';
import type { Trigger } from '../definition/trigger.ts';
import type { WorkflowRow } from '../store/rows.ts';

/** Returns the value that events are compared with: an entity's name, an agent's id, or an emitted event's type. */
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
 * Returns the columns for activating a workflow. If its schedule has no more ticks, it becomes inactive immediately.
 */
export function activate(trigger: Trigger, ticks: number, now: Date): Activation {
  if (trigger.config.trigger_type !== 'scheduled') return { status: 'active', status_reason: null, next_tick_at: null };
  const next_tick_at = findNextTick(trigger.config, ticks, now);
  return next_tick_at === null ? ended : { status: 'active', status_reason: null, next_tick_at };
}

export const ended: Activation = { status: 'inactive', status_reason: 'end_condition_reached', next_tick_at: null };
