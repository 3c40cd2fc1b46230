// Runs a turn. The agent works step by step until the model is done or asks the person a question, and then the
// turn lands. If another worker has already started the turn, it continues after the last recorded step.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { toTurnTopic, writeDeltas } from '../../core/turns/delta-writer.ts';
import type { ToolCall } from '../../core/turns/deltas.ts';
import {
  type Agent,
  type LimitReached,
  type Prompt,
  runLoop,
  type StepTools,
  type TurnSteps,
} from '../../core/turns/loop.ts';
import { listKnownCalls } from '../../core/turns/step-messages.ts';
import { runCall } from '../../core/turns/tools.ts';
import type {
  CompletedStep,
  LanguageModel,
  StepMessage,
  UnavailableReply,
} from '../../gateways/language-model/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Problem } from '../../kit/problem.ts';
import { toStorable, toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { checkFiles } from './checks/check-files.ts';
import { checkPage, type PageCheckDeps } from './checks/check-page.ts';
import { computeCredits, toSpend } from './costs.ts';
import { createDraft, type Draft } from './draft.ts';
import { failTurn, listRecords, requireClaim, TurnFailed, type TurnFailure } from './end.ts';
import { readHistory } from './history.ts';
import { instructions } from './instructions.ts';
import { accessLost, type LandingDeps, landTurn } from './landing.ts';
import { buildPrompt, tools } from './prompt.ts';
import { createReplyWriter, type ReplyWriter } from './reply-writer.ts';
import { isComplete, isFinish, type StepRecord } from './step.ts';
import { toChatTopic } from './store/messages.ts';
import { insertStep, listSteps, saveStepRecord } from './store/steps.ts';
import { saveTurnStart, type TurnRow } from './store/turns.ts';
import type { ToolContext } from './tools/tool.ts';

export interface TurnRunDeps extends LandingDeps, PageCheckDeps {
  readonly model: LanguageModel;
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'notify'>;
}

const limits = { steps: 40, turnMs: 9 * 60 * 1000 };

/** The state of a worker's run of a turn. */
interface TurnRun {
  readonly db: Db;
  readonly turn: TurnRow;
  readonly deps: TurnRunDeps;
  readonly history: readonly StepMessage[];
  readonly draft: Draft;
  readonly reply: ReplyWriter;
  readonly steps: TurnSteps<StepRecord>;
  readonly editFailures: Map<string, number>;
  readonly deadline: Date;
  /** Aborted if the worker shuts down, or if the turn was ended elsewhere. */
  readonly signal: AbortSignal;
}

/** Runs a turn until it ends. Throws ClaimLost if the claim is lost. The queue retries after any other error. */
export async function runTurn(db: Db, deps: TurnRunDeps, turn: TurnRow, signal: AbortSignal): Promise<void> {
  const run = await beginRun(db, deps, turn, signal);
  try {
    const access = await runLoop(createAgent(run));
    await run.reply.end();
    await landTurn(db, deps, access, { turn, draft: run.draft }, deps.clock.now());
  } catch (error) {
    if (!(error instanceof TurnFailed)) throw error;
    await run.reply.end();
    await failTurn(db, deps, turn, error.failure, deps.clock.now());
  }
}

async function beginRun(db: Db, deps: TurnRunDeps, turn: TurnRow, signal: AbortSignal): Promise<TurnRun> {
  const started = turn.started_date ?? deps.clock.now();
  await transaction(db, async (db) => {
    await requireClaim(db, turn);
    if (turn.started_date === null) await saveTurnStart(db, turn, started);
  });
  const steps = await listSteps(db, turn);
  const records = listRecords(steps);
  const reply = createReplyWriter(writeDeltas(db, deps, turn, [toTurnTopic(turn.id), toChatTopic(turn.app_id)]));
  for (const record of records) reply.addStep(record); // replaces an earlier run's deltas
  return {
    db,
    turn,
    deps,
    history: await readHistory(db, turn),
    draft: createDraft(deps, records),
    reply,
    steps: { records, begun: steps.find(({ record }) => record === null) },
    editFailures: countEditFailures(records),
    deadline: new Date(started.getTime() + limits.turnMs),
    signal,
  };
}

/** An upper bound, because it also counts correct edits that could not be written. */
function countEditFailures(records: readonly StepRecord[]): Map<string, number> {
  const failures = new Map<string, number>();
  for (const { name, arguments_string, status } of records.flatMap(({ tool_calls }) => tool_calls)) {
    const path = name === 'edit_file' ? readPath(arguments_string) : undefined;
    if (path !== undefined) failures.set(path, status === 'error' ? (failures.get(path) ?? 0) + 1 : 0);
  }
  return failures;
}

function readPath(argumentsString: string): string | undefined {
  try {
    return JSON.parse(argumentsString).path;
  } catch {
    return undefined; // a malformed call
  }
}

// ---- the agent

interface TurnPrompt extends Prompt {
  readonly access: AppAccess;
  readonly messages: readonly StepMessage[];
}

/** The agent returns the person's access, which is used to land the turn. */
function createAgent(run: TurnRun): Agent<TurnRow, TurnPrompt, StepRecord, AppAccess> {
  const { db, turn, deps, steps, draft, deadline } = run;
  const { records } = steps;
  const computeStep = (tokens: number) => computeCredits(records, tokens);
  return {
    clock: deps.clock,
    steps,
    maxSteps: limits.steps,
    asWorker: (change) =>
      transaction(db, async (db) => {
        await requireClaim(db, turn);
        return change(db, turn);
      }),
    insertStep,
    saveStep: saveStepRecord,
    toSpend,
    computeReserved: computeStep,
    computeCharged: computeStep,
    async buildPrompt() {
      const access = await findAccessOnBehalf(db, turn, turn.app_id, 'editor');
      if (access === undefined) throw fail('builder', accessLost);
      if (records.length === 0) await draft.begin(db, access); // the first step records the starter
      const prompt = buildPrompt(run.history, records);
      return { ...prompt, access, knownCalls: listKnownCalls(prompt.messages) };
    },
    findEnd: ({ access }) => (isComplete(records) ? access : undefined),
    isTimeUp: () => deps.clock.now() >= deadline,
    ask: (prompt) => askModel(run, prompt),
    openTools: (prompt) => openTools(run, prompt),
    afterStep: async () => undefined,
    refuse,
    refuseStep: (problem) => outOfCredits(problem, records.length),
  };
}

const fail = (source: TurnFailure['source'], message: string, refunds = false) =>
  new TurnFailed({ source, message, refunds });

const nothingSaved = 'Nothing was saved. Ask for a smaller change, or be more specific.';

function refuse(limit: LimitReached): TurnFailed {
  switch (limit) {
    case 'repeated_call':
      return fail('builder', `The assistant made the same call three times without making progress. ${nothingSaved}`);
    case 'step_limit':
      return fail('builder', `The assistant did not finish within ${limits.steps} steps. ${nothingSaved}`);
    case 'time_limit':
      return fail('builder', `The assistant did not finish within 9 minutes. ${nothingSaved}`);
  }
}

const outOfCredits = ({ message }: Problem, stepsSoFar: number): TurnFailed =>
  fail(
    'paywall',
    stepsSoFar === 0
      ? `Nothing was done. ${message}`
      : `The credits ran out, so nothing was saved. Steps charged before that: ${stepsSoFar}. ${message}`,
  );

// ---- the model

async function askModel(run: TurnRun, { messages }: TurnPrompt): Promise<CompletedStep> {
  const { deps, deadline, signal, reply } = run;
  const remainingMs = Math.max(1, deadline.getTime() - deps.clock.now().getTime());
  const callSignal = AbortSignal.any([signal, AbortSignal.timeout(remainingMs)]);
  const request = { model: null, instructions, messages, tools, signal: callSignal };
  const said = await deps.model.step(request, reply.addText);
  reply.endParagraph();
  if (said.outcome === 'unavailable') throw toModelFailure(run, said);
  return toStorable(said);
}

const maxModelFailures = 3;

/**
 * If steps have been recorded, the queue retries the turn shortly, and it continues after the last recorded step.
 * Otherwise the turn fails immediately, because the person can send the message again.
 */
function toModelFailure({ signal, deps, deadline, steps, turn }: TurnRun, { reason }: UnavailableReply): Error {
  const stepsSoFar = steps.records.length;
  signal.throwIfAborted();
  if (reason === 'cancelled' || deps.clock.now() >= deadline) return refuse('time_limit');
  if (reason === 'off')
    return fail('model', 'This installation has no language model. Ask its operator to set MODEL_URL.', true);
  if (reason === 'rejected') return rejected(stepsSoFar);
  if (stepsSoFar > 0 && turn.failures < maxModelFailures) return new Error(`the model is unavailable: ${reason}`);
  return modelUnavailable();
}

const rejected = (stepsSoFar: number): TurnFailed => {
  const charged = stepsSoFar === 0 ? 'Nothing was charged' : `Steps charged before that: ${stepsSoFar}`;
  return fail(
    'builder',
    `The language model rejected the request, possibly because the conversation is too long. Nothing was saved. ${charged}. Ask for a smaller change in a shorter message.`,
  );
};

const modelUnavailable = () =>
  fail(
    'model',
    'The language model is unavailable. Nothing was saved or charged. Send your message again in a few minutes.',
    true,
  );

// ---- the tools

function openTools(run: TurnRun, { access }: TurnPrompt): StepTools<StepRecord> {
  const { deps, db, draft, editFailures, signal } = run;
  const { schemas, files, signUp } = deps;
  const context = {
    db,
    access,
    draft,
    schemas,
    files,
    signUp,
    page: deps,
    editFailures,
    signal,
    now: deps.clock.now(),
  };
  let question: string | null = null;
  return {
    getState: () => draft.digest,
    findRefusal: () => undefined,
    repeatedCall: 'Not run: the same call was made three times, and nothing has changed in between.',
    async run(call, refusal) {
      run.reply.addCall({ ...call, status: 'running', results: null });
      const { status, result, asked } = await answerCall(call, refusal, context);
      const results = toStorableText(result); // removes NULs and characters split by a cut
      run.reply.addCall({ ...call, status, results });
      question ??= asked;
      return { status, results };
    },
    /** Checks the changes if the model is done or asks the person a question. */
    async complete(step) {
      run.reply.addParagraph(question ?? '');
      const record = { ...step, question, checks: [], ...draft.takeStep() };
      const isEnd = isFinish(record) || question !== null;
      return isEnd && draft.isChanged ? { ...record, checks: await runChecks(run, access) } : record;
    },
  };
}

async function answerCall(
  call: Pick<ToolCall, 'name' | 'arguments_string'>,
  refusal: string | undefined,
  context: ToolContext,
) {
  if (refusal !== undefined) return { status: 'error' as const, result: refusal, asked: null };
  const outcome = await runCall(tools, call, context);
  return { ...outcome, asked: 'question' in outcome ? (outcome.question ?? null) : null };
}

/** The results are shown to the person unchanged. */
async function runChecks(run: TurnRun, access: AppAccess): Promise<ToolCall[]> {
  const { db, draft, deps, signal } = run;
  const changed = [...draft.changedFiles].flatMap(([path, text]) => (text === null ? [] : [[path, text] as const]));
  const paths = (await draft.listFiles(db, access)).map(({ path }) => path);
  return [
    await showCheck(run, 'check_files', () => checkFiles(new Map(changed), new Set(paths))),
    await showCheck(run, 'check_page', () => checkPage(deps, { db, access, draft, signal }, '/')),
  ];
}

async function showCheck(
  { reply, steps }: TurnRun,
  name: string,
  check: () => Promise<Pick<ToolCall, 'status' | 'results'>>,
): Promise<ToolCall> {
  const call = { id: `${name}_${steps.records.length + 1}`, name, arguments_string: '{}' };
  reply.addCall({ ...call, status: 'running', results: null });
  const checked = { ...call, ...toStorable(await check()) };
  reply.addCall(checked);
  return checked;
}
