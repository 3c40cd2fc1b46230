// Owns running a turn: step by step, each recorded before the next, until the model is done, asks the person, or must be
// stopped. A turn that another worker had begun goes on after its last recorded step.
import { createHash } from 'node:crypto';
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { writeDeltas } from '../../core/turns/delta-writer.ts';
import type { ToolCall } from '../../core/turns/deltas.ts';
import { toTokens, toValidUsage } from '../../core/turns/messages.ts';
import { countCharacters } from '../../core/turns/step-messages.ts';
import { runCall } from '../../core/turns/tools.ts';
import type {
  CompletedStep,
  LanguageModel,
  RequestedCall,
  StepMessage,
  UnavailableReply,
} from '../../gateways/language-model/index.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { transaction } from '../../kit/db/database.ts';
import { Problem } from '../../kit/problem.ts';
import { toStorable, toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { checkFiles } from './checks/check-files.ts';
import { checkPage, type PageCheckDeps } from './checks/check-page.ts';
import { computeStepCredits, reserveStep, settleStep } from './costs.ts';
import { createDraft, type Draft } from './draft.ts';
import { failTurn, listRecords, requireClaim, type TurnFailure } from './end.ts';
import { readHistory } from './history.ts';
import { instructions } from './instructions.ts';
import { accessLost, type LandingDeps, landTurn } from './landing.ts';
import { buildPrompt, tools } from './prompt.ts';
import { createReplyWriter, type ReplyWriter } from './reply-writer.ts';
import { isComplete, isFinish, listKnownCallKeys, type StepRecord } from './step.ts';
import { insertStep, listSteps, type StepRow, saveStepRecord } from './store/steps.ts';
import { saveTurnStart, type TurnRow } from './store/turns.ts';
import type { ToolContext } from './tools/tool.ts';

export interface TurnRunDeps extends LandingDeps, PageCheckDeps {
  readonly model: LanguageModel;
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'notify'>;
}

const limits = { steps: 40, callsPerStep: 16, repeats: 3, turnMs: 9 * 60 * 1000 };

/** Everything that a run of a turn works with. */
interface TurnRun {
  readonly db: Db;
  readonly turn: TurnRow;
  readonly deps: TurnRunDeps;
  readonly history: readonly StepMessage[];
  readonly draft: Draft;
  readonly reply: ReplyWriter;
  readonly records: StepRecord[];
  /** The step that a crashed worker had begun and not recorded. */
  begunStep: StepRow | undefined;
  readonly editFailures: Map<string, number>;
  readonly deadline: Date;
  /** Aborted if the worker stops, or if the turn was ended by somebody else. */
  readonly signal: AbortSignal;
}

/** Runs a turn to its end. Throws ClaimLost if it is no longer this worker's; any other error is retried by the queue. */
export async function runTurn(db: Db, turn: TurnRow, deps: TurnRunDeps, signal: AbortSignal): Promise<void> {
  const run = await beginRun(db, turn, deps, signal);
  for (;;) {
    const access = await findAccessOnBehalf(db, turn, turn.app_id, 'editor');
    if (access === undefined) return endFailed(run, fail('builder', accessLost));
    const limit = findLimit(run);
    if (limit !== undefined) return endFailed(run, limit);
    if (run.records.length === 0) await run.draft.begin(db, access); // the first step records it
    if (isComplete(run.records)) {
      await run.reply.end();
      return landTurn(db, turn, access, run.draft, deps, deps.clock.now());
    }
    const failure = await takeStep(run, access);
    if (failure !== undefined) return endFailed(run, failure);
  }
}

async function beginRun(db: Db, turn: TurnRow, deps: TurnRunDeps, signal: AbortSignal): Promise<TurnRun> {
  const started = turn.started_date ?? deps.clock.now();
  await transaction(db, async (db) => {
    await requireClaim(db, turn);
    if (turn.started_date === null) await saveTurnStart(db, turn, started);
  });
  const steps = await listSteps(db, turn);
  const records = listRecords(steps);
  const reply = createReplyWriter(writeDeltas(db, turn, deps));
  for (const record of records) reply.addStep(record); // the deltas of an earlier run are void
  return {
    db,
    turn,
    deps,
    history: await readHistory(db, turn),
    draft: createDraft(deps, records),
    reply,
    records,
    begunStep: steps.find(({ record }) => record === null),
    editFailures: countEditFailures(records),
    deadline: new Date(started.getTime() + limits.turnMs),
    signal,
  };
}

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

const fail = (source: TurnFailure['source'], message: string, refunds = false): TurnFailure => ({
  source,
  message,
  refunds,
});

async function endFailed({ db, turn, deps, reply }: TurnRun, failure: TurnFailure): Promise<void> {
  await reply.end();
  await failTurn(db, turn, failure, deps, deps.clock.now());
}

const nothingSaved = 'Nothing was saved. Ask for a smaller change, or say more exactly what to do.';

/** Why no further step may be taken, if so. */
function findLimit({ records, deadline, deps, history }: TurnRun): TurnFailure | undefined {
  if (hasRepeat(listKnownCallKeys(records, countCharacters(history))))
    return fail('builder', `The assistant repeated the same call three times without getting further. ${nothingSaved}`);
  if (isComplete(records)) return undefined;
  if (records.length >= limits.steps)
    return fail('builder', `The assistant did not finish within ${limits.steps} steps. ${nothingSaved}`);
  if (deps.clock.now() >= deadline) return tookTooLong();
  return undefined;
}

const tookTooLong = () => fail('builder', `The assistant did not finish within 9 minutes. ${nothingSaved}`);

function hasRepeat(callKeys: readonly string[]): boolean {
  const counts = new Map<string, number>();
  for (const key of callKeys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= limits.repeats);
}

/** Calls the model once, runs its tools and records the step. Returns why the turn has failed, if so. */
async function takeStep(run: TurnRun, access: AppAccess): Promise<TurnFailure | undefined> {
  const { deps, deadline, signal, records, reply } = run;
  const { messages, promptTokens } = buildPrompt(run.history, records);
  const step = await beginStep(run, promptTokens);
  if (step instanceof Problem) return outOfCredits(step, records.length);
  const remainingMs = Math.max(1, deadline.getTime() - deps.clock.now().getTime());
  const callSignal = AbortSignal.any([signal, AbortSignal.timeout(remainingMs)]);
  const request = { model: null, instructions, messages, tools, signal: callSignal };
  const said = await deps.model.step(request, reply.addText);
  reply.endParagraph();
  if (said.outcome === 'unavailable') return toModelFailure(run, said);
  await recordStep(run, step, await completeStep(run, access, toStorable(said), promptTokens));
  return undefined;
}

const estimatedReplyTokens = 1_000;

/** Inserts the step's row with the credits reserved for it. If a crashed worker has begun it, its reservation is used. */
async function beginStep(run: TurnRun, promptTokens: number): Promise<StepRow | Problem> {
  const { db, turn, deps, records, begunStep } = run;
  if (begunStep !== undefined) return begunStep;
  const now = deps.clock.now();
  const credits = computeStepCredits(records, promptTokens + estimatedReplyTokens);
  try {
    return await transaction(db, async (db) => {
      await requireClaim(db, turn);
      const reservation = await reserveStep(db, turn, credits, now);
      const step = { number: records.length + 1, reservation_id: reservation?.id ?? null, record: null };
      await insertStep(db, turn, { number: step.number, reservation_id: step.reservation_id }, now);
      return step;
    });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

const outOfCredits = ({ message }: Problem, stepsSoFar: number): TurnFailure =>
  fail(
    'paywall',
    stepsSoFar === 0
      ? `Nothing was done. ${message}`
      : `The credits ran out, so nothing was saved. Steps that were charged until then: ${stepsSoFar}. ${message}`,
  );

/** Records a step, and charges for it, in one transaction. */
async function recordStep(run: TurnRun, step: StepRow, record: StepRecord): Promise<void> {
  const { db, turn, deps, records } = run;
  const now = deps.clock.now();
  const credits = computeStepCredits(records, record.tokens);
  await transaction(db, async (db) => {
    await requireClaim(db, turn);
    const reservation_id = await settleStep(db, turn, step, credits, now);
    await saveStepRecord(db, turn, { ...step, reservation_id }, record);
  });
  records.push(record);
  run.begunStep = undefined;
}

const maxModelFailures = 3;

/**
 * With work at stake, the queue runs the turn again a little later, and it goes on after its last step. A turn that has not
 * begun fails at once: the person may send the message again.
 */
function toModelFailure(run: TurnRun, { reason }: UnavailableReply): TurnFailure {
  const { signal, deps, deadline, records, turn } = run;
  signal.throwIfAborted();
  if (reason === 'cancelled' || deps.clock.now() >= deadline) return tookTooLong();
  if (reason === 'off')
    return fail('model', 'This installation has no language model. Ask its operator to set MODEL_URL.', true);
  if (reason === 'rejected') return rejected(records.length);
  if (records.length > 0 && turn.failures < maxModelFailures) throw new Error(`the model is unavailable: ${reason}`);
  return modelUnavailable();
}

const rejected = (stepsSoFar: number): TurnFailure => {
  const charged = stepsSoFar === 0 ? 'Nothing is charged' : `Steps that were charged until then: ${stepsSoFar}`;
  return fail(
    'builder',
    `The model rejected the request: the conversation may have become too long for it. Nothing was saved. ${charged}. Ask for a smaller change, in a shorter message.`,
  );
};

const modelUnavailable = () =>
  fail(
    'model',
    'The language model is unavailable, so nothing was saved, and nothing is charged. Send your message again in a few minutes.',
    true,
  );

/** Runs the tools that the model asked for, one after the other, and checks the changes if it says that it is done. */
async function completeStep(
  run: TurnRun,
  access: AppAccess,
  said: CompletedStep,
  promptTokens: number,
): Promise<StepRecord> {
  const { records, draft, deps, db } = run;
  const { schemas, files } = deps;
  const { editFailures, signal } = run;
  const context = { db, access, draft, schemas, files, page: deps, editFailures, signal, now: deps.clock.now() };
  const earlierKeys = listKnownCallKeys(records, countCharacters(run.history));
  const calls = numberCalls(said.tool_calls, records.length + 1);
  const tool_calls: ToolCall[] = [];
  const call_keys: string[] = [];
  let question: string | null = null;
  for (const [index, call] of calls.entries()) {
    if (index < limits.callsPerStep) call_keys.push(toCallKey(call, draft));
    const isRepeat = hasRepeat([...earlierKeys, ...call_keys]);
    const refusal =
      index >= limits.callsPerStep ? tooManyCalls(said.tool_calls.length - index) : isRepeat ? repeatedCall : undefined;
    const { status, result, question: asked } = await showCall(run, call, context, refusal);
    tool_calls.push({ ...call, status, results: result });
    question ??= asked ?? null;
    if (isRepeat) break;
  }
  run.reply.addParagraph(question ?? '');
  const usage = toValidUsage(said.usage);
  const step = { content: said.content, tool_calls, is_cut: said.is_cut, question, usage, call_keys };
  const tokens = usage
    ? usage.prompt_tokens + usage.completion_tokens
    : promptTokens + toTokens(said.content.length + JSON.stringify(said.tool_calls).length);
  const record = { ...step, tokens, model: said.model, checks: [], ...draft.takeStep() };
  const isEnd = isFinish(record) || question !== null;
  return isEnd && draft.isChanged ? { ...record, checks: await runChecks(run, access) } : record;
}

/** With ids that differ from those of other steps. Of those that are too many only the first is kept, which tells of the rest. */
const numberCalls = (calls: readonly RequestedCall[], step: number): RequestedCall[] =>
  calls.slice(0, limits.callsPerStep + 1).map((call, index) => ({ ...call, id: `call_${step}_${index + 1}` }));

const tooManyCalls = (count: number) =>
  `Not run: at most ${limits.callsPerStep} calls in one step. Calls that were not run, with this one: ${count}. Make them again.`;
const repeatedCall = 'Not run: the same call was made three times, and nothing has changed in between.';

const toCallKey = ({ name, arguments_string }: RequestedCall, { digest }: Draft): string =>
  createHash('sha256')
    .update(JSON.stringify([name, arguments_string, digest]))
    .digest('base64url');

async function showCall({ reply }: TurnRun, call: RequestedCall, context: ToolContext, refusal: string | undefined) {
  reply.addCall({ ...call, status: 'running', results: null });
  const outcome =
    refusal === undefined ? await runCall(tools, call, context) : { status: 'error' as const, result: refusal };
  const result = toStorableText(outcome.result); // a page may contain anything, and a cut may fall anywhere
  reply.addCall({ ...call, status: outcome.status, results: result });
  return { question: undefined, ...outcome, result };
}

/** The results are shown to the person as they are. */
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
  { reply, records }: TurnRun,
  name: string,
  check: () => Promise<Pick<ToolCall, 'status' | 'results'>>,
): Promise<ToolCall> {
  const call = { id: `${name}_${records.length + 1}`, name, arguments_string: '{}' };
  reply.addCall({ ...call, status: 'running', results: null });
  const checked = { ...call, ...toStorable(await check()) };
  reply.addCall(checked);
  return checked;
}
