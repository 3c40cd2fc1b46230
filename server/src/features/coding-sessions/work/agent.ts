// A session's agent: its prompts, charges and step records. The loop itself is in core/turns/loop.ts.
import { findAccessOnBehalf } from '../../../core/auth/on-behalf.ts';
import { askModel } from '../../../core/turns/ask-model.ts';
import {
  type Agent,
  type BegunStep,
  countTokens,
  type LimitReached,
  maxRepeats,
  type Prompt,
  runLoop,
  type StepTools,
  type TurnSteps,
} from '../../../core/turns/loop.ts';
import { toTokens } from '../../../core/turns/messages.ts';
import { roundStepCredits } from '../../../core/turns/step-costs.ts';
import { countCharacters, listKnownCalls, type SentCall, type SentMessage } from '../../../core/turns/step-messages.ts';
import { runCall } from '../../../core/turns/tools.ts';
import type { CompletedStep, LanguageModel, UnavailableReply } from '../../../gateways/language-model/index.ts';
import { newId } from '../../../kit/ids.ts';
import type { Problem } from '../../../kit/problem.ts';
import { toStorable, toStorableText } from '../../../kit/text.ts';
import type { Db } from '../../../tables.ts';
import type { InputRequest } from '../contract.ts';
import { appendLog, asWorker, moveSession, type SessionDeps } from '../session/session.ts';
import { removeCheckpoints } from '../store/checkpoints.ts';
import { listMessages, saveDelivered } from '../store/messages.ts';
import { lockSession, type SessionRow, saveWork } from '../store/sessions.ts';
import { insertStep, saveStepRecord } from '../store/steps.ts';
import { type CheckpointDeps, saveCheckpoint } from '../turn/checkpoint.ts';
import { computeCredits, computeSessionCredits, toSpend } from '../turn/costs.ts';
import type { DeliverDeps } from '../turn/deliver.ts';
import { SessionFault } from '../turn/fault.ts';
import { SessionStopped } from '../turn/watch.ts';
import type { Clone } from './clone.ts';
import { instructions } from './instructions.ts';
import { buildHistory, buildPrompt, type EarlierTurns, tools } from './prompt.ts';
import { toReceived } from './received.ts';
import { isFinish, type Received, type StepRecord, toMessages } from './step.ts';
import type { Asked, ToolContext, WorkTree } from './tools/tool.ts';

export interface AgentDeps extends SessionDeps, CheckpointDeps, Pick<DeliverDeps, 'onBoundary'> {
  readonly model: LanguageModel;
  /** The value of `SESSION_MAX_CREDITS`. */
  readonly maxCredits: number;
  readonly limits: WorkLimits;
}

export interface WorkLimits {
  readonly steps: number;
  readonly turnMs: number;
  /** How long the model may be unavailable before the turn fails. */
  readonly modelMs: number;
  readonly inputMs: number;
}

export const usualLimits: WorkLimits = {
  steps: 200,
  turnMs: 60 * 60_000,
  modelMs: 10 * 60_000,
  inputMs: 7 * 24 * 60 * 60_000,
};

/** Everything that the agent needs to work. */
export interface AgentRun {
  readonly db: Db;
  readonly session: SessionRow;
  readonly deps: AgentDeps;
  readonly work: WorkTree;
  readonly clone: Clone;
  /** The turn's base commit, and a folder that only this claim uses. */
  readonly base: string;
  readonly folder: string;
  readonly earlier: EarlierTurns;
  /** The total cost of the session's earlier turns. */
  readonly earlierCredits: number;
  readonly steps: TurnSteps<StepRecord>;
  /** The current step's cost so far. */
  inFlightCredits: number;
  /** Set if the newest tree could not be stored. */
  isUnsaved?: boolean;
  readonly editFailures: Map<string, number>;
  readonly startedAt: number;
  readonly signal: AbortSignal;
}

export type AgentEnd = { readonly end: 'finished'; readonly summary: string } | { readonly end: 'waiting' };

/** Throws SessionFault, SessionStopped or ClaimLost. The queue retries after any other error. */
export async function runAgent(run: AgentRun): Promise<AgentEnd> {
  try {
    return await runLoop(createAgent(run));
  } catch (error) {
    // Includes the time spent on unrecorded work, so a step that takes too long is not restarted forever.
    await saveWork(run.db, run.session, { work_ms: measureWork(run) }).catch(() => {});
    throw error;
  }
}

interface SessionPrompt extends Prompt {
  readonly messages: readonly SentMessage[];
  /** The messages that have not been sent to the model yet. */
  readonly pending: readonly Received[];
}

function createAgent(run: AgentRun): Agent<SessionRow, SessionPrompt, StepRecord, AgentEnd> {
  const { db, session, deps, steps } = run;
  const { records } = steps;
  return {
    clock: deps.clock,
    steps,
    maxSteps: deps.limits.steps,
    asWorker: (change) => asWorker(db, session, change),
    insertStep,
    saveStep: (db, locked, step, record, now) => saveStep(db, { run, locked, step, record }, now),
    toSpend,
    computeReserved: (tokens) => limitReserved(run, computeCredits(records, tokens)),
    computeCharged: (tokens) => limitCharged(run, computeCredits(records, tokens)),
    buildPrompt: () => readPrompt(run),
    findEnd({ pending }) {
      const last = records.at(-1);
      const isDone = last !== undefined && isFinish(last) && pending.length === 0;
      return isDone ? { end: 'finished', summary: last.content } : undefined;
    },
    isTimeUp: () => measureWork(run) >= deps.limits.turnMs,
    ask: (prompt) => ask(run, prompt),
    openTools: (prompt) => openTools(run, prompt),
    async afterStep({ asked }) {
      run.inFlightCredits = 0;
      await deps.onBoundary?.('step_recorded', session.id);
      return asked === null ? undefined : { end: 'waiting' };
    },
    refuse: (limit) => refuse(limit, deps.limits),
    refuseStep: outOfCredits,
  };
}

async function readPrompt(run: AgentRun): Promise<SessionPrompt> {
  const { db, session, steps } = run;
  const { records } = steps;
  run.signal.throwIfAborted();
  if ((await findAccessOnBehalf(db, session, session.app_id, 'editor')) === undefined)
    throw new SessionStopped('access_lost');
  const { history, received, pending } = await readConversation(run);
  const knownCalls = listKnownCalls(toMessages(records, new Map(), [], countCharacters(history)));
  return { ...buildPrompt(history, records, received, pending), pending, knownCalls };
}

/** The conversation so far, and the messages that have not been sent to the model yet. */
async function readConversation({ db, session, earlier, steps }: AgentRun) {
  const { records } = steps;
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

function refuse(limit: LimitReached, { steps, turnMs }: WorkLimits): SessionFault {
  switch (limit) {
    case 'repeated_call':
      return new SessionFault(
        'turn_limit_reached',
        `The agent made the same call ${maxRepeats} times without making progress. The work so far is kept. Send a message with more specific instructions.`,
      );
    case 'step_limit':
      return new SessionFault(
        'turn_limit_reached',
        `The agent did not finish within ${steps} steps. The work so far is kept. Send a message to continue.`,
      );
    case 'time_limit':
      return new SessionFault(
        'session_timeout',
        `The agent did not finish within ${Math.round(turnMs / 60_000)} minutes. The work so far is kept. Send a message to continue.`,
      );
  }
}

/** The total time that workers have spent on this turn so far. */
const measureWork = ({ session, startedAt }: Pick<AgentRun, 'session' | 'startedAt'>): number =>
  Number(session.work_ms) + Math.round(performance.now() - startedAt);

const outOfCredits = (problem: Problem): Error =>
  problem.kind === 'payment_required'
    ? new SessionFault('credits_exhausted', `${problem.message} The work so far is kept. Send a message to continue.`)
    : problem;

/** A session costs at most `SESSION_MAX_CREDITS`, so the last step is charged no more than the credits that remain. */
function limitReserved(run: AgentRun, credits: number): number {
  const left = computeLeft(run);
  if (left <= 0)
    throw new SessionFault(
      'credits_exhausted',
      `This session has used ${run.deps.maxCredits} credits, the maximum for one session. The work so far is kept. Launch a new session to continue.`,
    );
  return Math.min(credits, roundStepCredits(left));
}

const limitCharged = (run: AgentRun, credits: number): number =>
  Math.max(0, Math.min(credits, roundStepCredits(computeLeft(run))));

const computeLeft = ({ steps, earlierCredits, deps }: AgentRun): number =>
  deps.maxCredits - (earlierCredits + computeSessionCredits([steps.records]));

// ---- the model

const retryPausesMs = [1_000, 2_000, 5_000, 10_000, 20_000];
const maxPauseMs = 30_000;

/** Retries while the model is unavailable. */
async function ask(run: AgentRun, prompt: SessionPrompt): Promise<CompletedStep> {
  const { db, deps, session, signal } = run;
  const { modelMs } = deps.limits;
  await deps.onBoundary?.('step_inserted', session.id);
  const failingSince = performance.now();
  const findPauseMs = async ({ reason }: UnavailableReply, attempt: number) => {
    if (reason === 'rejected' || reason === 'off' || performance.now() - failingSince >= modelMs) return undefined;
    if (attempt === 0)
      await appendLog(db, deps, session, ['The language model is unavailable. Retrying.'], deps.clock.now());
    return Math.min(retryPausesMs[attempt] ?? maxPauseMs, modelMs);
  };
  const answer = await askModel(() => callModel(run, prompt), findPauseMs, signal);
  if (answer.outcome === 'unavailable')
    throw answer.reason === 'rejected' ? modelRejected() : modelUnavailableTooLong();
  if (answer.is_declined) throw modelDeclined();
  const said = toStorable(answer);
  await deps.onBoundary?.('model_answered', session.id);
  if (said.content !== '') await appendLog(db, deps, session, [said.content], deps.clock.now());
  return said;
}

const maxTimerMs = 2 ** 31 - 1;

/** Throws if the turn has no time left. */
async function callModel(run: AgentRun, { messages, promptTokens }: SessionPrompt) {
  const { deps, signal, steps } = run;
  const remainingMs = deps.limits.turnMs - measureWork(run);
  if (remainingMs <= 0) throw refuse('time_limit', deps.limits);
  let characters = 0;
  const pay = (tokens: number) => {
    run.inFlightCredits = limitCharged(run, computeCredits(steps.records, tokens));
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
  if (said.outcome === 'completed')
    pay(countTokens(said, promptTokens)); // charged even if the user cancels while the tools run
  else if (said.reason === 'cancelled') throw refuse('time_limit', deps.limits);
  return said;
}

const modelDeclined = () =>
  new SessionFault(
    'model_refused',
    'The language model declined this task. Launch a new session with a different task.',
  );

const modelRejected = () =>
  new SessionFault(
    'model_refused',
    'The language model rejected the request, possibly because the conversation is too long. Launch a new session with a smaller task.',
  );

const modelUnavailableTooLong = () =>
  new SessionFault(
    'model_unavailable',
    'The language model has been unavailable for too long. The work so far is kept. Send a message in a few minutes to continue.',
  );

// ---- its tools

/** Once a call has asked the user a question, later calls in the same step are not run. */
function openTools(run: AgentRun, { pending }: SessionPrompt): StepTools<StepRecord> {
  const { work, deps, session } = run;
  let asked: Asked | undefined;
  return {
    getState: () => work.tree,
    findRefusal: () => (asked === undefined ? undefined : notRunAfterQuestion),
    repeatedCall: `Not run: the same call was made ${maxRepeats} times, and nothing has changed in between.`,
    async run(call, refusal) {
      const ran = refusal === undefined ? await runTool(run, call) : { status: 'error' as const, result: refusal };
      if ('asked' in ran && ran.asked !== undefined) {
        asked = ran.asked;
        return { status: 'success', results: null };
      }
      return { status: ran.status, results: toStorableText(ran.result) };
    },
    async complete(step) {
      await deps.onBoundary?.('tools_ran', session.id);
      await saveTree(run, work.tree);
      // After the answer, another worker may continue, and it has only the stored tree.
      if (asked !== undefined && run.isUnsaved) throw notStored();
      const request = asked === undefined ? null : toRequest(asked, deps.clock.now(), deps.limits);
      return { ...step, received: pending.map(({ id }) => id), tree: work.tree, asked: request };
    },
  };
}

/**
 * Stops the tool when the turn's time is up. The step is then recorded with its tools' results, and the turn ends
 * before the next step.
 */
async function runTool(run: AgentRun, call: SentCall) {
  const { work, clone, editFailures, signal, db, session, deps } = run;
  const remainingMs = deps.limits.turnMs - measureWork(run);
  if (remainingMs <= 0) return { status: 'error' as const, result: timeIsUp };
  const timeUp = AbortSignal.timeout(Math.min(remainingMs, maxTimerMs));
  const log = (line: string) => appendLog(db, deps, session, [line], deps.clock.now());
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

const notRunAfterQuestion =
  'Not run, because the person was asked something in the same step. Make the call again if you still need it.';

// ---- recording

/** If the tree can't be stored, storing is retried after the next step. */
async function saveTree(run: AgentRun, tree: string): Promise<void> {
  const { db, session, deps, steps, work, base, folder, isUnsaved: wasUnsaved = false } = run;
  const before = steps.records.at(-1)?.tree ?? work.startTree;
  if (tree === before && !wasUnsaved) return;
  const place = { repository: work.repository, base, folder };
  run.isUnsaved = !(await saveCheckpoint(db, deps, { session, place, step: steps.records.length + 1, tree }));
  if (run.isUnsaved && !wasUnsaved) await appendLog(db, deps, session, [notSaved], deps.clock.now());
  await deps.onBoundary?.('checkpoint_stored', session.id);
}

const notSaved =
  "The work since the last step could not be stored because the object storage is unavailable or the workspace's storage is full. The session continues, but that work is lost if its worker crashes.";

const notStored = () =>
  new SessionFault(
    'sandbox_lost',
    "The agent has a question, but its last steps could not be stored because the object storage is unavailable or the workspace's storage is full. Free up storage, then send a message. The session continues from the last stored step.",
  );

/** Saves a step's record. If the step asks the user a question, also moves the session to `needs_input`. */
async function saveStep(
  db: Db,
  {
    run,
    locked,
    step,
    record,
  }: { readonly run: AgentRun; readonly locked: SessionRow; readonly step: BegunStep; readonly record: StepRecord },
  now: Date,
): Promise<void> {
  await saveStepRecord(db, locked, step, record);
  await saveDelivered(db, locked, record.received);
  // This step is complete, so earlier crashes and failures no longer count.
  const progress = { checkpoint_tree: record.tree, work_ms: measureWork(run), crash_count: 0, failures: 0 };
  await saveWork(db, locked, progress);
  if (!run.isUnsaved) await removeCheckpoints(db, locked, record.tree);
  if (record.asked === null || locked.state !== 'running') return;
  const row = (await lockSession(db, locked)) as SessionRow;
  await moveSession(db, run.deps, { locked: row, move: { to: 'needs_input', input_request: record.asked } }, now);
}

const toRequest = (asked: Asked, now: Date, { inputMs }: WorkLimits): InputRequest => ({
  input_request_id: newId(),
  ...asked,
  created_date: now.toISOString(),
  expires_at: new Date(now.getTime() + inputMs).toISOString(),
});
