// Owns how events start runs. The dispatcher of events only notes the events for which some workflow waits; a worker then finds
// the workflows, evaluates their conditions and starts their runs. So neither the conditions nor the inputs of one app delay the
// events of others.
import { auditLoopStopped, maxDepth, type StoppedLoop } from '../../../core/audit/loop-stopped.ts';
import { listenAfterCommit } from '../../../events.ts';
import { type Outcome, type Queue, type QueueRow, retries } from '../../../kit/background/queues/queue.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit } from '../../../kit/db/database.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import type { Db } from '../../../tables.ts';
import { readStoredTrigger } from '../definition/trigger.ts';
import { insertEvents, readEvents, type WaitingEvent } from '../store/events.ts';
import {
  listTriggered,
  selectWaitingTriggers,
  type TriggeredWorkflow,
  type WaitingTrigger,
} from '../store/workflows.ts';
import { toRef, turnOffWorkflow } from '../turn-off.ts';
import { judgeCondition } from './condition.ts';
import {
  isWaitedFor,
  type Occurrence,
  type TriggeringEvent,
  toAppId,
  toOccurrence,
  toRunInput,
  triggeringEvents,
} from './input.ts';
import { isInPlan, startTriggered, type TriggerDeps, type TriggeredRun } from './start.ts';

const eventQueue = 'workflow_events';

export const listenForEvents = (wake: Pick<WakeUps, 'notify'>) =>
  listenAfterCommit(triggeringEvents, {
    read(events) {
      const workspaces = new Set(events.map(({ payload }) => payload.workspace_id));
      const places = new Set((events as readonly TriggeringEvent[]).map(({ payload }) => toAppId(payload)));
      return selectWaitingTriggers([...workspaces], [...places]);
    },
    async handle(db, events, { rows, now }) {
      const waited = listWaitedFor(events as readonly TriggeringEvent[], rows);
      const deep = waited.filter(({ occurrence }) => occurrence.depth > maxDepth);
      if (deep.length > 0) await auditLoopStopped(db, await listStoppedLoops(db, deep), now);
      const due = waited.filter(({ occurrence }) => occurrence.depth <= maxDepth).map(({ event }) => toWaiting(event));
      if (due.length === 0) return;
      await insertEvents(db, due);
      afterCommit(db, () => wake.notify(eventQueue));
    },
  });

const toWaiting = ({ id, payload }: TriggeringEvent): WaitingEvent => ({
  id,
  workspace_id: payload.workspace_id,
  app_id: toAppId(payload),
});

/** The events for which an active workflow waits. */
function listWaitedFor(events: readonly TriggeringEvent[], waiting: readonly WaitingTrigger[]) {
  const pairs = events.map((event) => ({ event, occurrence: toOccurrence(event) }));
  const known = new Set(waiting.map(nameTrigger));
  return pairs.filter(({ occurrence }) => known.has(nameTrigger(occurrence)));
}

/** Messages of an agent may start workflows of several apps, so that the app is no part of their name. */
const nameTrigger = ({ app_id, trigger_type, trigger_key }: WaitingTrigger | Occurrence): string =>
  JSON.stringify([trigger_type === 'agent_message' ? null : app_id, trigger_type, trigger_key]);

async function listStoppedLoops(
  db: Db,
  deep: readonly { readonly event: TriggeringEvent; readonly occurrence: Occurrence }[],
): Promise<StoppedLoop[]> {
  const stopped: StoppedLoop[] = [];
  for (const { event, occurrence } of new Map(deep.map((pair) => [nameTrigger(pair.occurrence), pair])).values()) {
    for (const { workspace_id, app_id, id, trigger } of await listTriggered(db, occurrence)) {
      const known = readStoredTrigger(trigger);
      if (known !== undefined && isWaitedFor(known, event))
        stopped.push({ workspace_id, app_id, target: { kind: 'workflow', id } });
    }
  }
  return stopped;
}

interface EventRow extends QueueRow, WaitingEvent {
  /** The workflow that was compared with the event last. */
  readonly handled_up_to: string | null;
  /** Undefined if the log no longer has it. */
  readonly event?: TriggeringEvent;
}

export interface EventQueueDeps extends TriggerDeps {
  readonly jq: Pick<Jq, 'evaluate'>;
}

const busyMs = 500;
/** How many workflows are compared with an event under one claim. The next claim goes on with the others. */
export const workflowsAtOnce = 20;

export const createEventQueue = (deps: EventQueueDeps): Queue<EventRow> => ({
  name: eventQueue,
  owner: 'app_id',
  concurrency: 32,
  perOwner: 4,
  // jq evaluates one condition of a workspace at a time, so that more claims of it would only wait, in the places of others.
  globalLimits: { concurrencyKey: 'workspace_id', perKey: 4 },
  timeoutMs: 6 * 60_000, // jq lets each of the conditions wait for at most 10 seconds, and run for at most 5
  outcomeColumns: { handled_up_to: 'uuid' },
  retryMs: retries(1_000, 10_000, 60_000, 10 * 60_000, 60 * 60_000),
  async load(db, rows) {
    const events = new Map(
      (
        await readEvents(
          db,
          rows.map((row) => row.id),
        )
      ).map((event) => [event.id, event]),
    );
    return rows.map((row) => ({ ...row, event: events.get(row.id) }));
  },
  async run({ event, handled_up_to }, { db, now, signal }): Promise<Outcome> {
    if (event === undefined) throw new Error('the event was removed before workflows could be started');
    const handled = await handleSome(db, event, handled_up_to, deps, now, signal);
    const { runs, runAgainInMs } = handled;
    return {
      columns: { handled_up_to: handled.handledUpTo },
      ...(runs.length > 0 && { record: async (db) => void (await startTriggered(db, runs, deps, now)) }),
      ...(runAgainInMs !== undefined && { runAgainInMs }),
    };
  },
});

interface HandledWorkflows {
  readonly runs: TriggeredRun[];
  readonly handledUpTo: string | null;
  /** Undefined: no workflow is left. */
  readonly runAgainInMs?: number;
}

/** Compares the next workflows with the event, until jq has no time for a condition. What was found out until then is kept. */
async function handleSome(
  db: Db,
  event: TriggeringEvent,
  after: string | null,
  deps: EventQueueDeps,
  now: Date,
  signal: AbortSignal,
): Promise<HandledWorkflows> {
  const input = toRunInput(event);
  const runs: TriggeredRun[] = [];
  let handledUpTo = after;
  const workflows = await listTriggered(db, toOccurrence(event), { after, limit: workflowsAtOnce });
  for (const workflow of workflows) {
    const run = await compare(db, event, input, workflow, deps, now, signal);
    if (run === 'busy') return { runs, handledUpTo, runAgainInMs: busyMs };
    if (run !== undefined) runs.push(run);
    handledUpTo = workflow.id;
  }
  return { runs, handledUpTo, ...(workflows.length === workflowsAtOnce && { runAgainInMs: 0 }) };
}

/** The run that the event starts. Undefined: none. */
async function compare(
  db: Db,
  event: TriggeringEvent,
  input: unknown,
  workflow: TriggeredWorkflow,
  { jq }: EventQueueDeps,
  now: Date,
  signal: AbortSignal,
): Promise<TriggeredRun | 'busy' | undefined> {
  const trigger = readStoredTrigger(workflow.trigger);
  if (trigger === undefined) {
    await turnOffWorkflow(db, toRef(workflow), 'definition_invalid', now);
    return undefined;
  }
  if (!isWaitedFor(trigger, event) || isOlder(event, workflow)) return undefined;
  if (!(await isInPlan(db, workflow, workflow.plan, now))) return undefined;
  const verdict = await judgeCondition(trigger, input, workflow.workspace_id, jq, signal);
  if (verdict === 'busy') return verdict;
  if (verdict === 'not_met') return undefined;
  const run = { workflow, input, depth: toOccurrence(event).depth, cause: event.id };
  return verdict === 'met' ? run : { ...run, failure: verdict.failure };
}

/** A workflow is never started by what happened before it was created, even if that is handled later. */
const isOlder = ({ occurred_at }: TriggeringEvent, { created_date }: TriggeredWorkflow): boolean =>
  occurred_at < created_date;
