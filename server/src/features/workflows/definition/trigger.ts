// Triggers, which start workflows (docs/api/workflows.md#triggers).
import { describeIssue } from '../../../kit/issues.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import { Schedule, StoredSchedule } from '../../../kit/schedule/index.ts';
import type { Expression } from './model.ts';
import { checkExpressions, isReadable, listFaults, type Parsed } from './parse.ts';
import {
  createFindings,
  type Findings,
  fault,
  isObject,
  noteExpression,
  type Place,
  readChoice,
  readObject,
  readText,
  step,
} from './source.ts';
import { readEventType } from './tasks.ts';
import { readExpression } from './templates.ts';
import { isId, readEntityName } from './values.ts';

const eventTypes = ['create', 'update', 'delete'] as const;
const messageEvents = ['message.created', 'message.completed'] as const;

export type TriggerConfig =
  | { readonly trigger_type: 'manual' | 'webhook' | 'app_publish' }
  | {
      readonly trigger_type: 'entity';
      readonly entity_name: string;
      readonly event_types: readonly (typeof eventTypes)[number][];
    }
  | ({ readonly trigger_type: 'scheduled' } & Schedule)
  | {
      readonly trigger_type: 'agent_message';
      readonly agent_id: string;
      readonly event: (typeof messageEvents)[number];
    }
  | { readonly trigger_type: 'event'; readonly type: string };

export interface Trigger {
  readonly config: TriggerConfig;
  /** No run starts if the result is null or false. `.` is the run's input. There are no variables. */
  readonly condition?: Expression;
}

/**
 * Checks the whole trigger, including its condition. `owner` is the expression's owner (kit/jq). May throw `JqBusy`.
 */
export async function parseTrigger(source: unknown, jq: Jq, owner?: string): Promise<Parsed<Trigger>> {
  const findings = createFindings();
  const place: Place = { value: source, path: '', scope: [], findings };
  const trigger = isReadable(place) ? readTrigger(place, Schedule) : undefined;
  await checkExpressions(findings, jq, owner);
  const faults = listFaults(findings);
  return faults.length > 0 || trigger === undefined ? { faults } : { ok: trigger };
}

/** Reads a trigger that was checked when it was stored. Throws if it can't be read. */
export function toTrigger(stored: unknown): Trigger {
  const findings: Findings = createFindings();
  const trigger = readTrigger({ value: stored, path: '', scope: [], findings }, StoredSchedule);
  const [first] = listFaults(findings);
  if (first !== undefined || trigger === undefined)
    throw new Error(`a stored trigger is invalid: ${first?.path} ${first?.message}`);
  return trigger;
}

/** Returns undefined if the trigger can't be read. It may have been imported or stored by another version of Plinth. */
export function readStoredTrigger(stored: unknown): Trigger | undefined {
  try {
    return toTrigger(stored);
  } catch {
    return undefined;
  }
}

type ScheduleSchema = typeof Schedule | typeof StoredSchedule;

function readTrigger(place: Place, schema: ScheduleSchema): Trigger | undefined {
  const fields = readObject(place, ['config', 'condition']);
  if (fields === undefined) return undefined;
  const [configPlace, conditionPlace] = [fields.require('config'), fields.get('condition')];
  const config = configPlace && readConfig(configPlace, schema);
  const condition = conditionPlace && readCondition(conditionPlace);
  if (config === undefined) return undefined;
  return condition === undefined ? { config } : { config, condition };
}

/** The whole text is jq, so the enclosing `${ … }` is optional. */
function readCondition(place: Place): Expression | undefined {
  const text = readText(place, 10_000);
  if (text === undefined) return undefined;
  const condition = readExpression(text) ?? text;
  noteExpression(place, condition);
  return condition;
}

const keysByType = {
  manual: [],
  entity: ['entity_name', 'event_types'],
  scheduled: Object.keys(StoredSchedule.shape),
  webhook: [],
  app_publish: [],
  agent_message: ['agent_id', 'event'],
  event: ['type'],
} as const satisfies Record<TriggerConfig['trigger_type'], readonly string[]>;
const triggerTypes = Object.keys(keysByType) as TriggerConfig['trigger_type'][];

function readConfig(place: Place, schema: ScheduleSchema): TriggerConfig | undefined {
  const { value } = place;
  if (!isObject(value)) return fault(place, 'must be an object');
  const typePlace = step(place, 'trigger_type', value.trigger_type);
  if (!Object.hasOwn(value, 'trigger_type')) return fault(typePlace, 'is required');
  const trigger_type = readChoice(typePlace, triggerTypes);
  if (trigger_type === undefined) return undefined;
  const fields = readObject(place, ['trigger_type', ...keysByType[trigger_type]]);
  if (fields === undefined) return undefined;
  switch (trigger_type) {
    case 'entity': {
      const [name, types] = [fields.require('entity_name'), fields.require('event_types')];
      const entity_name = name && readEntityName(name);
      const event_types = types && readEventTypes(types);
      return entity_name === undefined || event_types === undefined
        ? undefined
        : { trigger_type, entity_name, event_types };
    }
    case 'scheduled': {
      const schedule = readSchedule(place, value, schema);
      return schedule && { trigger_type, ...schedule };
    }
    case 'agent_message': {
      const [agent, eventPlace] = [fields.require('agent_id'), fields.require('event')];
      const agent_id = agent && readAgentId(agent);
      const event = eventPlace && readChoice(eventPlace, messageEvents);
      return agent_id === undefined || event === undefined ? undefined : { trigger_type, agent_id, event };
    }
    case 'event': {
      const typeOfEvent = fields.require('type');
      const type = typeOfEvent && readEventType(typeOfEvent);
      return type === undefined ? undefined : { trigger_type, type };
    }
    default:
      return { trigger_type };
  }
}

const readAgentId = (place: Place): string | undefined =>
  isId(place.value) ? place.value : fault(place, 'must be the id of an agent');

function readEventTypes(place: Place): (typeof eventTypes)[number][] | undefined {
  const { value } = place;
  if (!Array.isArray(value) || value.length === 0)
    return fault(place, `must be a list with at least one of ${eventTypes.join(', ')}`);
  if (new Set(value).size < value.length) return fault(place, 'must not contain duplicate items');
  const types = value.map((item, index) => readChoice(step(place, index, item), eventTypes));
  return types.every((type) => type !== undefined) ? types : undefined;
}

function readSchedule(
  place: Place,
  { trigger_type: _type, ...rest }: Readonly<Record<string, unknown>>,
  schema: ScheduleSchema,
): Schedule | undefined {
  // Other keys have already been reported as faults.
  const known = Object.entries(rest).filter(([key]) => keysByType.scheduled.includes(key));
  const schedule: Readonly<Record<string, unknown>> = Object.fromEntries(known);
  const parsed = schema.safeParse(schedule);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const [key] = issue.path;
    const value = key === undefined ? schedule : schedule[String(key)];
    fault(key === undefined ? place : step(place, String(key), value), describeIssue(issue, value).msg);
  }
  return undefined;
}
