// Owns the loop of the agent: one call of the model at a time, its tools, and their record, until the model is done, asks the person, or
// must be stopped. A step is recorded before the next one begins, so that another worker can go on after the last record.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { findAccessOnBehalf } from '../../../core/auth/on-behalf.ts';
import { toTokens, toValidUsage } from '../../../core/turns/messages.ts';
import { countCharacters, type SentMessage } from '../../../core/turns/step-messages.ts';
import { runCall } from '../../../core/turns/tools.ts';
import type { CompletedStep, LanguageModel, RequestedCall } from '../../../gateways/language-model/index.ts';
import { newId } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import { toStorable, toStorableText } from '../../../kit/text.ts';
import type { Db } from '../../../tables.ts';
import { type CheckpointDeps, saveCheckpoint } from '../checkpoint.ts';
import type { InputRequest } from '../contract.ts';
import { computeStepCredits, reserveStep, settleStep } from '../costs.ts';
import type { DeliverDeps } from '../deliver.ts';
import { SessionFault } from '../fault.ts';
import { appendLog, asWorker, moveSession, type SessionDeps } from '../session.ts';
import { removeCheckpoints } from '../store/checkpoints.ts';
import { listMessages, saveDelivered } from '../store/messages.ts';
import { lockSession, type SessionRow, saveWork } from '../store/sessions.ts';
import { insertStep, type StepRow, saveStepRecord } from '../store/steps.ts';
import { SessionStopped } from '../watch.ts';
import type { Clone } from './clone.ts';
import { instructions } from './instructions.ts';
import { buildHistory, buildPrompt, type EarlierTurns, tools } from './prompt.ts';
import { toReceived } from './received.ts';
import { isFinish, listKnownCallKeys, type Received, type StepCall, type StepRecord } from './step.ts';
import type { Asked, ToolContext, WorkTree } from './tools/tool.ts';

export interface LoopDeps extends SessionDeps, CheckpointDeps, Pick<DeliverDeps, 'onBoundary'> {
  readonly model: LanguageModel;
  /** `SESSION_MAX_CREDITS`. */
  readonly maxCredits: number;
  readonly limits: WorkLimits;
}

export interface WorkLimits {
  readonly steps: number;
  readonly turnMs: number;
  /** How long the model may be unavailable. */
  readonly modelMs: number;
  readonly inputMs: number;
}

export const usualLimits: WorkLimits = {
  steps: 200,
  turnMs: 60 * 60_000,
  modelMs: 10 * 60_000,
  inputMs: 7 * 24 * 60 * 60_000,
};

const callsPerStep = 16;
const maxRepeats = 3;

/** Everything that the loop works with. */
export interface LoopRun {
  readonly db: Db;
  readonly session: SessionRow;
  readonly deps: LoopDeps;
  readonly work: WorkTree;
  readonly clone: Clone;
  /** The commit where the turn started, and a folder of this claim. */
  readonly base: string;
  readonly folder: string;
  readonly earlier: EarlierTurns;
  /** What the session has cost in earlier turns. */
  readonly earlierCredits: number;
  readonly records: StepRecord[];
  /** The step that a crashed worker had begun and not recorded. */
  begunStep: StepRow | undefined;
  /** What the step costs that is being taken, as far as it has come. */
  inFlightCredits: number;
  /** The newest tree could not be stored. */
  isUnsaved?: boolean;
  readonly editFailures: Map<string, number>;
  readonly startedAt: number;
  readonly signal: AbortSignal;
}

export type LoopEnd = { readonly end: 'finished'; readonly summary: string } | { readonly end: 'waiting' };

/** Throws SessionFault, SessionStopped or ClaimLost; any other error is retried by the queue. */
export async function runLoop(run: LoopRun): Promise<LoopEnd> {
  try {
    return await takeSteps(run);
  } catch (error) {
    // Also what was not recorded counts: a step that takes too long must not begin anew for ever.
    await saveWork(run.db, run.session, { work_ms: measureWork(run) }).catch(() => {});
    throw error;
  }
}

async function takeSteps(run: LoopRun): Promise<LoopEnd> {
  const { db, session, records } = run;
  for (;;) {
    run.signal.throwIfAborted();
    if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
      throw new SessionStopped('access_lost');
    const { history, received, pending } = await readConversation(run);
    const last = records.at(-1);
    if (last !== undefined && isFinish(last) && pending.length === 0) return { end: 'finished', summary: last.content };
    requireWithinLimits(run, countCharacters(history));
    if ((await takeStep(run, history, received, pending)) === 'waiting') return { end: 'waiting' };
  }
}

/** What was said before, and what the model has not been sent yet. */
async function readConversation({ db, session, earlier, records }: LoopRun) {
  const messages = await listMessages(db, session);
  const received = toReceived(messages, [...earlier.flat(), ...records]);
  const read = new Set([...earlier.flat(), ...records].flatMap((record) => record.received));
  const asked = records.at(-1)?.asked?.input_request_id;
  const isNew = ({ id, state, input_request_id }: (typeof messages)[number]) =>
    !read.has(id) && (state === 'pending' || (asked !== undefined && input_request_id === asked));
  const pending = messages.filter(isNew).flatMap(({ id }) => received.get(id) ?? []);
  return { history: buildHistory(session, earlier, received), received, pending };
}

// ---- limits

function requireWithinLimits({ records, deps, ...run }: LoopRun, historyCharacters: number): void {
  const { limits } = deps;
  if (hasRepeat(listKnownCallKeys(records, historyCharacters)))
    throw new SessionFault(
      'turn_limit_reached',
      `The agent repeated the same call ${maxRepeats} times without getting further. What was done is kept: send a message that says more exactly what to do.`,
    );
  if (records.length >= limits.steps)
    throw new SessionFault(
      'turn_limit_reached',
      `The agent did not finish within ${limits.steps} steps. What was done is kept: send a message to go on.`,
    );
  if (measureWork(run) >= limits.turnMs) throw tookTooLong(limits);
}

const tookTooLong = ({ turnMs }: WorkLimits) =>
  new SessionFault(
    'session_timeout',
    `The agent did not finish within ${Math.round(turnMs / 60_000)} minutes. What was done is kept: send a message to go on.`,
  );

/** How long workers have worked on this turn. */
const measureWork = ({ session, startedAt }: Pick<LoopRun, 'session' | 'startedAt'>): number =>
  Number(session.work_ms) + Math.round(performance.now() - startedAt);

function hasRepeat(callKeys: readonly string[]): boolean {
  const counts = new Map<string, number>();
  for (const key of callKeys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= maxRepeats);
}

// ---- a step

async function takeStep(
  run: LoopRun,
  history: readonly SentMessage[],
  received: ReadonlyMap<string, Received>,
  pending: readonly Received[],
): Promise<'taken' | 'waiting'> {
  const { deps, session, records } = run;
  const { messages, promptTokens } = buildPrompt(history, records, received, pending);
  const step = await beginStep(run, promptTokens);
  await deps.onBoundary?.('step_inserted', session.id);
  const said = toStorable(await askModel(run, messages, promptTokens));
  await deps.onBoundary?.('model_answered', session.id);
  if (said.content !== '') await appendLog(run.db, session, [said.content], deps, deps.clock.now());
  const { record, asked } = await runTools(run, said, promptTokens, countCharacters(history));
  await deps.onBoundary?.('tools_ran', session.id);
  await saveTree(run, record.tree);
  // Whoever goes on after the answer has only what is stored.
  if (asked !== undefined && run.isUnsaved) throw notStored();
  const receivedIds = pending.map(({ id }) => id);
  await recordStep(run, step, { ...record, received: receivedIds }, asked);
  await deps.onBoundary?.('step_recorded', session.id);
  return asked === undefined ? 'taken' : 'waiting';
}

const estimatedReplyTokens = 1_000;

/** Inserts the step's row with the credits reserved for it. If a crashed worker has begun it, its reservation is used. */
async function beginStep(run: LoopRun, promptTokens: number): Promise<StepRow> {
  const { db, session, deps, records, begunStep } = run;
  if (begunStep !== undefined) return begunStep;
  const now = deps.clock.now();
  const credits = limitCredits(run, computeStepCredits(records, promptTokens + estimatedReplyTokens));
  const step = records.length + 1;
  try {
    return await asWorker(db, session, async (db, locked) => {
      const reservation_id = (await reserveStep(db, locked, credits, now))?.id ?? null;
      await insertStep(db, locked, { step, reservation_id }, now);
      return { turn: session.turn, step, reservation_id, record: null };
    });
  } catch (error) {
    if (error instanceof Problem && error.kind === 'payment_required')
      throw new SessionFault('credits_exhausted', `${error.message} What was done is kept: send a message to go on.`);
    throw error;
  }
}

/** A session costs no more than `SESSION_MAX_CREDITS`: the last step is charged as far as that reaches. */
function limitCredits({ records, earlierCredits, deps }: LoopRun, credits: number): number {
  const spent = earlierCredits + sumCredits(records);
  const left = deps.maxCredits - spent;
  if (left <= 0)
    throw new SessionFault(
      'credits_exhausted',
      `This session has used ${deps.maxCredits} credits, the most that a session can. What was done is kept. Launch a new session to go on.`,
    );
  return Math.min(credits, Number(left.toFixed(4)));
}

const sumCredits = (records: readonly StepRecord[]): number =>
  records.length === 0
    ? 0
    : computeStepCredits(
        [],
        records.reduce((sum, { tokens }) => sum + tokens, 0),
      );

const retryPausesMs = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000];

/** Asks again while the model is unavailable. */
async function askModel(run: LoopRun, messages: readonly SentMessage[], promptTokens: number): Promise<CompletedStep> {
  const { deps, signal, session } = run;
  const failingSince = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    const remainingMs = deps.limits.turnMs - measureWork(run);
    if (remainingMs <= 0) throw tookTooLong(deps.limits);
    let characters = 0;
    const pay = (tokens: number) => {
      run.inFlightCredits = limitSettled(run, computeStepCredits(run.records, tokens));
    };
    pay(promptTokens);
    const request = {
      model: null,
      instructions,
      messages,
      tools,
      maxOutputTokens: 16_384,
      signal: AbortSignal.any([signal, AbortSignal.timeout(Math.min(remainingMs, maxTimerMs))]),
    };
    const said = await deps.model.step(request, (text) => {
      characters += text.length;
      pay(promptTokens + toTokens(characters));
    });
    signal.throwIfAborted();
    run.inFlightCredits = 0;
    if (said.outcome === 'completed') {
      pay(countTokens(said, promptTokens)); // also if the person cancels while the tools run
      if (!said.is_declined) return said;
      throw new SessionFault(
        'model_refused',
        'The language model declined this task. Launch a new session with a task that it may do.',
      );
    }
    if (said.reason === 'rejected')
      throw new SessionFault(
        'model_refused',
        'The language model rejected the request: the conversation may have become too long for it. Launch a new session with a smaller task.',
      );
    if (said.reason === 'cancelled') continue; // the time is up
    if (said.reason === 'off' || performance.now() - failingSince >= deps.limits.modelMs) throw modelUnavailable();
    if (attempt === 0)
      await appendLog(run.db, session, ['The language model is unavailable. Trying again.'], deps, deps.clock.now());
    const pauseMs = retryPausesMs[Math.min(attempt, retryPausesMs.length - 1)] as number;
    await sleep(Math.min(pauseMs, deps.limits.modelMs), undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

const maxTimerMs = 2 ** 31 - 1;

const modelUnavailable = () =>
  new SessionFault(
    'model_unavailable',
    'The language model has been unavailable for too long. What was done is kept: send a message in a few minutes to go on.',
  );

/** Runs the tools that the model asked for, one after the other, up to the first that asks the person. */
async function runTools(run: LoopRun, said: CompletedStep, promptTokens: number, historyCharacters: number) {
  const { work, records } = run;
  const earlierKeys = listKnownCallKeys(records, historyCharacters);
  const tool_calls: StepCall[] = [];
  const call_keys: string[] = [];
  let asked: Asked | undefined;
  for (const [index, call] of numberCalls(said.tool_calls, records.length + 1).entries()) {
    if (index < callsPerStep) call_keys.push(toCallKey(call, work));
    const isRepeat = hasRepeat([...earlierKeys, ...call_keys]);
    const refusal =
      index >= callsPerStep
        ? tooManyCalls(said.tool_calls.length - index)
        : asked !== undefined
          ? notRunAfterQuestion
          : isRepeat
            ? repeatedCall
            : undefined;
    const ran = refusal === undefined ? await runTool(run, call) : { status: 'error' as const, result: refusal };
    if ('asked' in ran && ran.asked !== undefined) {
      asked = ran.asked;
      tool_calls.push({ ...call, status: 'success', results: null });
    } else tool_calls.push({ ...call, status: ran.status, results: toStorableText(ran.result) });
    if (isRepeat) break;
  }
  const usage = toValidUsage(said.usage);
  const tokens = countTokens(said, promptTokens);
  const { content, is_cut, model } = said;
  const record = { content, tool_calls, is_cut, usage, tokens, model, call_keys, tree: work.tree };
  return { record, asked };
}

function countTokens(said: CompletedStep, promptTokens: number): number {
  const usage = toValidUsage(said.usage);
  if (usage) return usage.prompt_tokens + usage.completion_tokens;
  return promptTokens + toTokens(said.content.length + JSON.stringify(said.tool_calls).length);
}

/** Up to the end of the turn's time: then the step is recorded with what its tools have done, and the turn ends before the next one. */
async function runTool(run: LoopRun, call: RequestedCall) {
  const { work, clone, editFailures, signal, db, session, deps } = run;
  const remainingMs = deps.limits.turnMs - measureWork(run);
  if (remainingMs <= 0) return { status: 'error' as const, result: timeIsUp };
  const timeUp = AbortSignal.timeout(Math.min(remainingMs, maxTimerMs));
  const log = (line: string) => appendLog(db, session, [line], deps, deps.clock.now());
  const context: ToolContext = { work, clone, editFailures, log, signal: AbortSignal.any([signal, timeUp]) };
  try {
    const ran = await runCall(tools, call, context);
    signal.throwIfAborted();
    return ran;
  } catch (error) {
    signal.throwIfAborted();
    if (timeUp.aborted && error === timeUp.reason) return { status: 'error' as const, result: timeIsUp };
    throw error;
  }
}

const timeIsUp = 'Not completed, because the time of this turn is up. Make the call again if you still need it.';

/** With ids that differ from those of other steps. Of those that are too many only the first is kept, which tells of the rest. */
const numberCalls = (calls: readonly RequestedCall[], step: number): RequestedCall[] =>
  calls.slice(0, callsPerStep + 1).map((call, index) => ({ ...call, id: `call_${step}_${index + 1}` }));

const tooManyCalls = (count: number) =>
  `Not run: at most ${callsPerStep} calls in one step. Calls that were not run, with this one: ${count}. Make them again.`;
const repeatedCall = `Not run: the same call was made ${maxRepeats} times, and nothing has changed in between.`;
const notRunAfterQuestion =
  'Not run, because the person was asked something in the same step. Make the call again if you still need it.';

const toCallKey = ({ name, arguments_string }: RequestedCall, { tree }: WorkTree): string =>
  createHash('sha256')
    .update(JSON.stringify([name, arguments_string, tree]))
    .digest('base64url');

// ---- recording

/** What could not be stored is tried again after the next step. */
async function saveTree(run: LoopRun, tree: string): Promise<void> {
  const { db, session, deps, records, work, base, folder, isUnsaved: wasUnsaved = false } = run;
  const before = records.at(-1)?.tree ?? work.startTree;
  if (tree === before && !wasUnsaved) return;
  const place = { repository: work.repository, base, folder };
  run.isUnsaved = !(await saveCheckpoint(db, session, place, records.length + 1, tree, deps));
  if (run.isUnsaved && !wasUnsaved) await appendLog(db, session, [notSaved], deps, deps.clock.now());
  await deps.onBoundary?.('checkpoint_stored', session.id);
}

const notSaved =
  "The work since the last step could not be stored: the object storage is unavailable, or the workspace's storage is used up. The session goes on; should its worker crash, that work is lost.";

const notStored = () =>
  new SessionFault(
    'sandbox_lost',
    "The agent has a question, but its last steps could not be stored to wait for the answer: the object storage is unavailable, or the workspace's storage is used up. Free storage, then send a message: the session goes on from what was stored before.",
  );

/** Records a step, charges for it, and waits for the person if they were asked, in one transaction. */
async function recordStep(
  run: LoopRun,
  step: StepRow,
  said: Omit<StepRecord, 'asked'>,
  asked: Asked | undefined,
): Promise<void> {
  const { db, session, deps, records } = run;
  const now = deps.clock.now();
  const request = asked === undefined ? null : toRequest(asked, now, deps.limits);
  const record: StepRecord = { ...said, asked: request };
  const credits = limitSettled(run, computeStepCredits(records, record.tokens));
  await asWorker(db, session, async (db, locked) => {
    const reservation_id = await settleStep(db, locked, step, credits, now);
    await saveStepRecord(db, locked, { ...step, reservation_id }, record);
    await saveDelivered(db, locked, record.received);
    // A crash or a failure before this is of no more account: the next one will be at another place.
    const progress = { checkpoint_tree: record.tree, work_ms: measureWork(run), crash_count: 0, failures: 0 };
    await saveWork(db, locked, progress);
    if (!run.isUnsaved) await removeCheckpoints(db, locked, record.tree);
    if (request === null || locked.state !== 'running') return;
    const row = (await lockSession(db, locked)) as SessionRow;
    await moveSession(db, row, { to: 'needs_input', input_request: request }, deps, now);
  });
  records.push(record);
  run.begunStep = undefined;
  run.inFlightCredits = 0;
}

const limitSettled = ({ records, earlierCredits, deps }: LoopRun, credits: number): number =>
  Math.max(0, Math.min(credits, Number((deps.maxCredits - earlierCredits - sumCredits(records)).toFixed(4))));

const toRequest = (asked: Asked, now: Date, { inputMs }: WorkLimits): InputRequest => ({
  input_request_id: newId(),
  ...asked,
  created_date: now.toISOString(),
  expires_at: new Date(now.getTime() + inputMs).toISOString(),
});
