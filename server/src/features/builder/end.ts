// Owns ending a turn. One transaction writes the assistant's message, a message of the platform that says why if the turn did
// not simply finish, the app's status, the credits to give back and the end of the turn.
import { saveAppStatus } from '../../core/identity/apps.ts';
import { toTurnTopic } from '../../core/turns/delta-writer.ts';
import { prepareFindProgress, type ToolCall } from '../../core/turns/deltas.ts';
import { toTokens } from '../../core/turns/messages.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { computeStepCredits, refundSteps, settleStep } from './costs.ts';
import { readHistory } from './history.ts';
import { buildPrompt } from './prompt.ts';
import { type Reply, type StepRecord, shortenReply, sumUsage, toReply, toShownReply } from './step.ts';
import { insertMessage } from './store/messages.ts';
import { listSteps, type StepRow } from './store/steps.ts';
import { lockClaimedTurn, lockRunningTurn, saveTurnEnd, type TurnRow } from './store/turns.ts';

export interface EndDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** Why a turn has failed. */
export interface TurnFailure {
  readonly source: 'builder' | 'paywall' | 'model';
  /** For the person: what happened and what to do next. */
  readonly message: string;
  /** Whether what was charged for its steps is given back. */
  readonly refunds: boolean;
}

/** The wake-up topic on which the worker that runs a turn learns that somebody else has ended it. */
export const toStopTopic = (turnId: string): string => `stop:${turnId}`;

/** Thrown if the turn was ended by somebody else, or is run by another worker. Whoever gets it must write nothing more. */
export class ClaimLost extends Error {}

/** Ends a turn that this worker runs. */
export const failTurn = (db: Db, turn: TurnRow, failure: TurnFailure, deps: EndDeps, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    await requireClaim(db, turn);
    await writeFailure(db, turn, failure, deps, now);
  });

export async function requireClaim(db: Db, turn: TurnRow): Promise<void> {
  if ((await lockClaimedTurn(db, turn)) === undefined) throw new ClaimLost();
}

/** Ends a turn that no worker runs any more, if it has not ended yet. */
export async function deadLetterTurn(
  db: Db,
  turn: TurnRow,
  failure: TurnFailure,
  deps: EndDeps,
  now: Date,
): Promise<void> {
  if ((await lockRunningTurn(db, turn)) !== undefined) await writeFailure(db, turn, failure, deps, now);
}

async function writeFailure(db: Db, turn: TurnRow, failure: TurnFailure, deps: EndDeps, now: Date): Promise<void> {
  const steps = await listSteps(db, turn);
  await refundSteps(db, turn, steps, failure.refunds ? 'all' : 'open', now);
  const reply = toShownReply(listRecords(steps));
  await writeEnd(db, turn, { steps, reply, note: failure.message, failure }, deps, now);
}

/** Ends a turn because somebody stopped it, in whichever process. Returns whether it was running. */
export function stopTurn(db: Db, turn: TurnRow, deps: EndDeps, now: Date): Promise<boolean> {
  return transaction(db, async (db) => {
    const running = await lockRunningTurn(db, turn);
    if (running === undefined) return false;
    const steps = await listSteps(db, running);
    const streamed = await readStreamed(db, running, listRecords(steps));
    await settleStoppedStep(db, running, steps, streamed, now);
    const reply = shortenReply(joinReply(toReply(listRecords(steps)), streamed));
    await writeEnd(db, running, { steps, reply, note: stoppedNote, failure: null }, deps, now);
    afterCommit(db, () => deps.wake.notify(toStopTopic(turn.id)));
    return true;
  });
}

const stoppedNote = 'This turn was stopped. Nothing that it changed was saved.';

const findProgress = prepareFindProgress('chat_turns');

/** What was streamed of the step that is not recorded yet. */
async function readStreamed(db: Db, turn: TurnRow, records: readonly StepRecord[]): Promise<Reply> {
  const recorded = toReply(records);
  const recordedIds = new Set(recorded.tool_calls.map(({ id }) => id));
  const progress = await findProgress(db, turn, { claim: 0, seq: 0 }); // begins with the recorded steps
  const calls = new Map<string, ToolCall>();
  let text = '';
  for (const { delta } of progress?.deltas ?? []) {
    if ('text' in delta) text += delta.text;
    else if (!recordedIds.has(delta.tool_call.id)) calls.set(delta.tool_call.id, delta.tool_call);
  }
  const tool_calls = [...calls.values()].map((call) =>
    call.status === 'running' ? { ...call, status: 'stopped' as const } : call,
  );
  return { content: text.slice(recorded.content.length), tool_calls };
}

const joinReply = (recorded: Reply, streamed: Reply): Reply => ({
  content: recorded.content + streamed.content, // the streamed text begins with the empty line between them
  tool_calls: [...recorded.tool_calls, ...streamed.tool_calls],
});

/** The model is paid for a step that is stopped, too: for what it was sent, and what it has said until then. */
async function settleStoppedStep(
  db: Db,
  turn: TurnRow,
  steps: readonly StepRow[],
  { content, tool_calls }: Reply,
  now: Date,
): Promise<void> {
  const step = steps.find(({ record }) => record === null);
  if (step === undefined) return;
  // No worker runs it: the model has failed, or the worker was killed.
  if (turn.claimed_slot === null) return refundSteps(db, turn, steps, 'open', now);
  const records = listRecords(steps);
  const { promptTokens } = buildPrompt(await readHistory(db, turn), records);
  const said = tool_calls.reduce((sum, { arguments_string }) => sum + arguments_string.length, content.length);
  const credits = computeStepCredits(records, promptTokens + toTokens(said));
  await settleStep(db, turn, step, credits, now);
}

export const listRecords = (steps: readonly StepRow[]): StepRecord[] =>
  steps.flatMap(({ record }) => (record === null ? [] : [record]));

interface WrittenEnd {
  readonly steps: readonly StepRow[];
  readonly reply: Reply;
  /** What the platform tells the person; null: nothing. */
  readonly note: string | null;
  readonly failure: TurnFailure | null;
}

/** Call this in a transaction that has locked the turn. */
export async function writeEnd(
  db: Db,
  turn: TurnRow,
  { steps, reply, note, failure }: WrittenEnd,
  { wake }: EndDeps,
  now: Date,
): Promise<void> {
  // First of all, because it locks the app's row, and with it the positions of messages.
  await saveAppStatus(db, turn, {
    status_state: failure === null ? 'ready' : 'error',
    status_message: failure?.message ?? '',
    status_error_source: failure?.source ?? null,
  });
  const records = listRecords(steps);
  const usage = sumUsage(records);
  const model = records.at(-1)?.model ?? null;
  if (reply.content !== '' || reply.tool_calls.length > 0)
    await insertMessage(db, turn, { id: newId(), role: 'assistant', ...reply, ...usage, model }, now);
  if (note !== null) await insertMessage(db, turn, { id: newId(), role: 'system', content: note }, now);
  const error = { error_source: failure?.source ?? null, error_message: failure?.message ?? null };
  await saveTurnEnd(db, turn, { ended_date: now, ...error });
  afterCommit(db, () => wake.notify(toTurnTopic(turn.id)));
}
