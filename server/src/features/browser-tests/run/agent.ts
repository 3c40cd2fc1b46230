// The agent. It asks the model for the next action, performs it and shows the model the page, until the model is
// done or must be stopped. The model never decides the verdict. Its summary is only for people.
import { askModel } from '../../../core/turns/ask-model.ts';
import { numberCalls } from '../../../core/turns/loop.ts';
import type { CheckOutcome, Snapshot } from '../../../gateways/browser/session/types.ts';
import type { CompletedStep, RequestedCall, UnavailableReply } from '../../../gateways/language-model/index.ts';
import { hideCredentials } from './credentials.ts';
import { instructions } from './instructions.ts';
import {
  type AnsweredCall,
  buildMessages,
  describeTask,
  type Exchange,
  listExpectations,
  newBoundary,
  type Remainder,
  wrapPageText,
  wrapSnapshot,
} from './prompt.ts';
import { isAction, isCheck, listPending, type PendingActions } from './recording.ts';
import { findLimit, isGone, type Run, replayCheck, takeAction, takeCheck, takeFinish } from './step.ts';
import { type Command, readCall, ToolError, tools } from './tools.ts';
import type { RecordedCheck, RecordedStep, RunResult } from './types.ts';
import { describeAction } from './words.ts';

/** A recording that could not be replayed beyond the step at `failedAt`. */
export interface BrokenRecording {
  readonly steps: readonly RecordedStep[];
  readonly failedAt: number;
}

interface Agent {
  readonly run: Run;
  readonly task: string;
  readonly boundary: string;
  readonly exchanges: Exchange[];
  readonly pending: PendingActions;
  /** The recorded checks, keyed by number. */
  readonly expectations: ReadonlyMap<number, RecordedCheck>;
  page: Snapshot;
  refusedFinishes: number;
  isFinished: boolean;
}

/** Works towards the goal from the current page, until the model is done or a limit is reached. */
export async function followGoal(run: Run, broken: BrokenRecording | null): Promise<RunResult['ended']> {
  const agent = await beginAgent(run, broken);
  const first = agent.page;
  while (!agent.isFinished) {
    const limit = findLimit(run) ?? (run.modelCalls >= run.limits.modelCalls ? 'step_limit' : undefined);
    if (limit !== undefined) return limit;
    const said = await askForStep(agent, first);
    if (said.outcome === 'unavailable') return 'model_unavailable';
    agent.exchanges.push(await answer(agent, said));
  }
  run.leftOut = agent.pending.countLeftOut();
  return 'finished';
}

async function beginAgent(run: Run, broken: BrokenRecording | null): Promise<Agent> {
  const checks = (broken?.steps ?? []).filter(isCheck).map((check, index) => [index + 1, check] as const);
  const expectations = new Map(checks);
  const boundary = newBoundary();
  return {
    run,
    task: describeTask(run.input, broken && toRemainder(broken, listUnevaluated(run, expectations)), boundary),
    boundary,
    exchanges: [],
    pending: listPending((broken?.steps.slice(broken.failedAt) ?? []).filter(isAction)),
    expectations,
    page: await look(run),
    refusedFinishes: 0,
    isFinished: false,
  };
}

function toRemainder({ steps, failedAt }: BrokenRecording, expectations: Remainder['expectations']): Remainder {
  const failed = steps[failedAt];
  const failedAction = failed !== undefined && isAction(failed) ? describeAction(failed.action) : '';
  return { replayed: failedAt, total: steps.length, failedAction, expectations };
}

const listUnevaluated = ({ evaluated }: Run, expectations: Agent['expectations']): Remainder['expectations'] =>
  [...expectations].flatMap(([number, { expectation }]) => (evaluated.has(number) ? [] : [{ number, expectation }]));

/** If the page hangs, the snapshot says so, and a check can detect it. */
async function look({ session, limits, input }: Run): Promise<Snapshot> {
  try {
    return hideCredentials(await session.snapshot(limits.snapshotCharacters), input.testUser);
  } catch (error) {
    if (await isGone(session)) throw error;
    return { url: '', title: '', tree: '(the page does not answer)' };
  }
}

// ---- the model

/** Retries a failed model call twice, unless it would fail the same way. Throws if the run is over. */
async function askForStep(agent: Agent, first: Snapshot): Promise<CompletedStep | UnavailableReply> {
  const { run, task, boundary, exchanges } = agent;
  const firstSnapshot = wrapSnapshot(first, boundary);
  const messages = buildMessages(task, firstSnapshot, exchanges, run.limits.promptCharacters);
  const { outputTokens: maxOutputTokens } = run.limits;
  const request = { model: null, instructions, messages, tools, maxOutputTokens, signal: run.signal };
  const ask = () => {
    run.modelCalls += 1;
    return run.deps.model.step(request, () => {});
  };
  const findPauseMs = (failure: UnavailableReply, attempt: number) =>
    isFinal(failure) || run.modelCalls >= run.limits.modelCalls ? undefined : run.limits.retryDelaysMs[attempt];
  return askModel(ask, findPauseMs, run.signal);
}

const isFinal = ({ reason }: UnavailableReply): boolean => reason === 'off' || reason === 'rejected';

// ---- the model's calls

async function answer(agent: Agent, said: CompletedStep): Promise<Exchange> {
  const { run, boundary, exchanges } = agent;
  const requested = numberCalls(said.tool_calls.slice(0, run.limits.callsPerStep), exchanges.length + 1);
  const calls = await answerCalls(agent, requested, said.tool_calls.length - requested.length);
  const note = calls.length === 0 ? refuseFinish(agent, noCall) : null;
  if (!agent.isFinished) agent.page = await look(run);
  const content = hideCredentials(said.content, run.input.testUser);
  return { content, calls, note, snapshot: wrapSnapshot(agent.page, boundary) };
}

/**
 * Once a call has failed, later calls are not run, because they were meant for a different page. `surplus` is the
 * number of calls that were dropped. The last result mentions them.
 */
async function answerCalls(agent: Agent, calls: readonly RequestedCall[], surplus: number): Promise<AnsweredCall[]> {
  const answered: AnsweredCall[] = [];
  let hasFailed = false;
  for (const [index, call] of calls.entries()) {
    const answer: CallAnswer = hasFailed ? notRun : await answerCall(agent, call);
    hasFailed ||= answer.is_error || agent.run.steps.at(-1)?.check?.holds === false;
    const note = surplus > 0 && index === calls.length - 1 ? `\n${sayLeftOut(surplus, calls.length)}` : '';
    answered.push({ ...call, ...answer, result: `${answer.result}${note}` });
  }
  return answered;
}

type CallAnswer = Pick<AnsweredCall, 'result' | 'is_error'>;

const notRun: CallAnswer = { result: 'Not run: the call before it failed.', is_error: true };
const sayLeftOut = (surplus: number, max: number): string =>
  `Not run: ${surplus} more, because one answer can have ${max} calls. Call them again if they are needed.`;

const noCall = 'Continue with a tool, or call finish if all that the goal demands was checked.';

async function answerCall(agent: Agent, call: RequestedCall): Promise<CallAnswer> {
  if (agent.isFinished) return { result: 'Not run: the test has ended.', is_error: true };
  const limit = findLimit(agent.run);
  if (limit !== undefined) return { result: 'Not run: the test has reached a limit.', is_error: true };
  try {
    return await carryOut(agent, readCall(call, agent.page.tree));
  } catch (error) {
    if (error instanceof ToolError) return { result: error.message, is_error: true };
    throw error;
  }
}

async function carryOut(agent: Agent, command: Command): Promise<CallAnswer> {
  const { run, pending, page, boundary } = agent;
  switch (command.command) {
    case 'act': {
      const outcome = await takeAction(run, command.action, page.tree, pending.replace);
      if (outcome.outcome === 'done') return { result: 'Done.', is_error: false };
      return { result: `It could not be done:\n${wrapPageText(outcome.why, boundary)}`, is_error: true };
    }
    case 'check': {
      const outcome = await takeCheck(run, command.check, page.tree);
      if (outcome === undefined)
        throw new ToolError('Several elements have this role and name. Name the one by its ref.');
      return toCheckResult(outcome, boundary);
    }
    case 'expectation':
      return toCheckResult(
        await replayCheck(run, command.number, getExpectation(agent, command.number), 'agent'),
        boundary,
      );
    case 'finish':
      return finish(agent, command.summary);
  }
}

const toCheckResult = ({ holds, seen }: CheckOutcome, boundary: string) => ({
  result: holds ? 'It holds.' : `It does not hold. What was seen:\n${wrapPageText(seen, boundary)}`,
  is_error: false,
});

function getExpectation({ run, expectations }: Agent, number: number): RecordedCheck {
  const expectation = expectations.get(number);
  if (expectation === undefined) throw new ToolError('There is no recorded expectation with this number.');
  if (run.evaluated.has(number)) throw new ToolError('This recorded expectation was evaluated already.');
  const [next] = listUnevaluated(run, expectations);
  if (next !== undefined && next.number < number)
    throw new ToolError(`Evaluate recorded expectations in their order: ${next.number} comes first.`);
  return expectation;
}

async function finish(agent: Agent, summary: string) {
  const { run, expectations, pending, boundary } = agent;
  const refusal = findRefusal(listUnevaluated(run, expectations), run, boundary);
  if (refusal !== undefined) {
    const result = refuseFinish(agent, `Not yet. ${refusal}`);
    if (!agent.isFinished) return { result, is_error: true };
  }
  agent.isFinished = true;
  await takeFinish(run, summary, pending.leaveOut());
  return { result: 'The test has ended.', is_error: false };
}

function findRefusal(unevaluated: Remainder['expectations'], { steps }: Run, boundary: string): string | undefined {
  if (unevaluated.length > 0) return listExpectations(unevaluated, boundary);
  return steps.some(({ check }) => check !== null) ? undefined : noCheck;
}

const noCheck = 'You have checked nothing so far. Check what the goal demands with assert.';

/** If the agent insists on finishing, the run ends, and its unchecked expectations make the verdict inconclusive. */
function refuseFinish(agent: Agent, why: string): string {
  agent.refusedFinishes += 1;
  agent.isFinished = agent.refusedFinishes > agent.run.limits.refusedFinishes;
  return why;
}
