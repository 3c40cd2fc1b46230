// Ends a turn. One transaction writes the assistant's message, the app's status, the refund, and the turn's end.
// If the turn did not finish normally, the transaction also writes a platform message with the reason.
import { saveAppStatus } from '../../core/identity/apps.ts';
import { ClaimLost } from '../../core/turns/claim.ts';
import { toTurnTopic } from '../../core/turns/delta-writer.ts';
import { prepareFindProgress, type ToolCall } from '../../core/turns/deltas.ts';
import { toTokens } from '../../core/turns/messages.ts';
import { settleStep } from '../../core/turns/step-costs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { computeCredits, refundSteps, toSpend } from './costs.ts';
import { readHistory } from './history.ts';
import { buildPrompt } from './prompt.ts';
import { type Reply, type StepRecord, shortenReply, sumUsage, toReply, toShownReply } from './step.ts';
import { insertMessage, toChatTopic } from './store/messages.ts';
import { listSteps, type StepRow } from './store/steps.ts';
import { lockClaimedTurn, lockRunningTurn, saveTurnEnd, type TurnRow } from './store/turns.ts';

export interface EndDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

/** Why a turn failed. */
export interface TurnFailure {
  readonly source: 'builder' | 'paywall' | 'model';
  /** Tells the person what happened and what to do next. */
  readonly message: string;
  /** Whether the charges for the turn's steps are refunded. */
  readonly refunds: boolean;
}

/** Thrown when the turn can't continue. */
export class TurnFailed extends Error {
  readonly failure: TurnFailure;

  constructor(failure: TurnFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The topic on which a turn's worker is told that the turn was ended elsewhere. */
export const toStopTopic = (turnId: string): string => `stop:${turnId}`;

/** Ends a turn that this worker runs. */
export const failTurn = (db: Db, deps: EndDeps, turn: TurnRow, failure: TurnFailure, now: Date): Promise<void> =>
  transaction(db, async (db) => {
    await requireClaim(db, turn);
    await writeFailure(db, deps, turn, failure, now);
  });

export async function requireClaim(db: Db, turn: TurnRow): Promise<void> {
  if ((await lockClaimedTurn(db, turn)) === undefined) throw new ClaimLost();
}

/** Ends a turn that no worker is running, unless it has already ended. */
export async function deadLetterTurn(
  db: Db,
  deps: EndDeps,
  turn: TurnRow,
  failure: TurnFailure,
  now: Date,
): Promise<void> {
  if ((await lockRunningTurn(db, turn)) !== undefined) await writeFailure(db, deps, turn, failure, now);
}

async function writeFailure(db: Db, deps: EndDeps, turn: TurnRow, failure: TurnFailure, now: Date): Promise<void> {
  const steps = await listSteps(db, turn);
  await refundSteps(db, turn, steps, failure.refunds ? 'all' : 'open', now);
  const reply = toShownReply(listRecords(steps));
  await writeEnd(db, deps, turn, { steps, reply, note: failure.message, failure }, now);
}

/** Ends a turn that a user stopped, whichever process runs it. Returns whether the turn was running. */
export function stopTurn(db: Db, deps: EndDeps, turn: TurnRow, now: Date): Promise<boolean> {
  return transaction(db, async (db) => {
    const running = await lockRunningTurn(db, turn);
    if (running === undefined) return false;
    const steps = await listSteps(db, running);
    const streamed = await readStreamed(db, running, listRecords(steps));
    await settleStoppedStep(db, running, steps, streamed, now);
    const reply = shortenReply(joinReply(toReply(listRecords(steps)), streamed));
    await writeEnd(db, deps, running, { steps, reply, note: stoppedNote, failure: null }, now);
    afterCommit(db, () => deps.wake.notify(toStopTopic(turn.id)));
    return true;
  });
}

const stoppedNote = 'This turn was stopped. None of its changes were saved.';

const findProgress = prepareFindProgress('chat_turns');

/** Reads the streamed part of the unrecorded step. */
async function readStreamed(db: Db, turn: TurnRow, records: readonly StepRecord[]): Promise<Reply> {
  const recorded = toReply(records);
  const recordedIds = new Set(recorded.tool_calls.map(({ id }) => id));
  const progress = await findProgress(db, turn, { claim: 0, seq: 0 }); // includes the recorded steps
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
  content: recorded.content + streamed.content, // starts with the separating blank line
  tool_calls: [...recorded.tool_calls, ...streamed.tool_calls],
});

/** A stopped step is charged too: for its prompt, and for its output so far. */
async function settleStoppedStep(
  db: Db,
  turn: TurnRow,
  steps: readonly StepRow[],
  { content, tool_calls }: Reply,
  now: Date,
): Promise<void> {
  const step = steps.find(({ record }) => record === null);
  if (step === undefined) return;
  // No worker is running the step. The model failed or the worker was killed.
  if (turn.claimed_slot === null) return refundSteps(db, turn, steps, 'open', now);
  const records = listRecords(steps);
  const { promptTokens } = buildPrompt(await readHistory(db, turn), records);
  const said = tool_calls.reduce((sum, { arguments_string }) => sum + arguments_string.length, content.length);
  const credits = computeCredits(records, promptTokens + toTokens(said));
  await settleStep(db, toSpend(turn), step, credits, now);
}

export const listRecords = (steps: readonly StepRow[]): StepRecord[] =>
  steps.flatMap(({ record }) => (record === null ? [] : [record]));

interface WrittenEnd {
  readonly steps: readonly StepRow[];
  readonly reply: Reply;
  /** The platform's message to the person, or null if there is none. */
  readonly note: string | null;
  readonly failure: TurnFailure | null;
}

/** Call this in a transaction that has locked the turn. */
export async function writeEnd(
  db: Db,
  { wake }: EndDeps,
  turn: TurnRow,
  { steps, reply, note, failure }: WrittenEnd,
  now: Date,
): Promise<void> {
  // Must come first, because it locks the app's row, and that lock also protects message positions.
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
  afterCommit(db, () => {
    wake.notify(toTurnTopic(turn.id));
    wake.notify(toChatTopic(turn.app_id));
  });
}
