// Starts runs for events. The event dispatcher only stores the events that a workflow waits for. A worker then
// finds the workflows, evaluates their conditions and starts their runs, so one app's conditions and inputs don't delay
// other apps' events.
import { auditLoopStopped, maxDepth, type StoppedLoop } from '../../../core/audit/loop-stopped.ts';
import { listenAfterCommit } from '../../../events.ts';
import { type Outcome, type Queue, type QueueRow, retries } from '../../../kit/background/queues/queue.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import { afterCommit } from '../../../kit/db/database.ts';
import type { Jq } from '../../../kit/jq/index.ts';
import type { Db } from '../../../tables.ts';
import {
  isWaitedFor,
  type Occurrence,
  type TriggeringEvent,
  toAppId,
  toOccurrence,
  toRunInput,
  triggeringEvents,
} from '../definition/occurrence.ts';
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

/** Returns the events that active workflows wait for. */
function listWaitedFor(events: readonly TriggeringEvent[], waiting: readonly WaitingTrigger[]) {
  const pairs = events.map((event) => ({ event, occurrence: toOccurrence(event) }));
  const known = new Set(waiting.map(nameTrigger));
  return pairs.filter(({ occurrence }) => known.has(nameTrigger(occurrence)));
}

/** An agent's messages may start workflows in several apps, so the name does not include the app. */
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
  /** The last workflow that has been compared with the event. */
  readonly handled_up_to: string | null;
  /** Undefined if the event is no longer in the log. */
  readonly event?: TriggeringEvent;
}

export interface EventQueueDeps extends TriggerDeps {
  readonly jq: Pick<Jq, 'evaluate'>;
}

const busyMs = 500;
/** How many workflows are compared with an event per claim. The next claim continues with the rest. */
export const workflowsAtOnce = 20;

export const createEventQueue = (deps: EventQueueDeps): Queue<EventRow> => ({
  name: eventQueue,
  owner: 'app_id',
  concurrency: 32,
  perOwner: 4,
  // jq evaluates each workspace's conditions one at a time, so more claims would only wait and keep other workspaces
  // from being served.
  globalLimits: { concurrencyKey: 'workspace_id', perKey: 4 },
  byHand: { retry: true, cancel: true },
  timeoutMs: 6 * 60_000, // each condition waits at most 10 seconds for jq, and runs for at most 5
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
    const handled = await handleSome(db, deps, event, handled_up_to, now, signal);
    const { runs, runAgainInMs } = handled;
    return {
      columns: { handled_up_to: handled.handledUpTo },
      ...(runs.length > 0 && { record: async (db) => void (await startTriggered(db, deps, runs, now)) }),
      ...(runAgainInMs !== undefined && { runAgainInMs }),
    };
  },
});

interface HandledWorkflows {
  readonly runs: TriggeredRun[];
  readonly handledUpTo: string | null;
  /** Undefined if no workflows remain. */
  readonly runAgainInMs?: number;
}

/** Compares the next workflows with the event until jq has no capacity left. The results so far are kept. */
async function handleSome(
  db: Db,
  deps: EventQueueDeps,
  event: TriggeringEvent,
  after: string | null,
  now: Date,
  signal: AbortSignal,
): Promise<HandledWorkflows> {
  const input = toRunInput(event);
  const runs: TriggeredRun[] = [];
  let handledUpTo = after;
  const workflows = await listTriggered(db, toOccurrence(event), { after, limit: workflowsAtOnce });
  for (const workflow of workflows) {
    const run = await compare(db, deps, { event, input, workflow }, now, signal);
    if (run === 'busy') return { runs, handledUpTo, runAgainInMs: busyMs };
    if (run !== undefined) runs.push(run);
    handledUpTo = workflow.id;
  }
  return { runs, handledUpTo, ...(workflows.length === workflowsAtOnce && { runAgainInMs: 0 }) };
}

/** Returns the run that the event starts, if any. */
async function compare(
  db: Db,
  { jq }: EventQueueDeps,
  {
    event,
    input,
    workflow,
  }: { readonly event: TriggeringEvent; readonly input: unknown; readonly workflow: TriggeredWorkflow },
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

/** An event never starts a workflow that was created after it occurred, even if it is handled later. */
const isOlder = ({ occurred_at }: TriggeringEvent, { created_date }: TriggeredWorkflow): boolean =>
  occurred_at < created_date;
