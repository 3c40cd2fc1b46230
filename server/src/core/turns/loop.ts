// The agent loop: one model call at a time, the tool calls that it requests, and the record of both, until the
// model is done, asks the person a question, or must be stopped. Each step is recorded before the next one starts, so
// another worker can continue after the last record. Each kind of agent implements `Agent`.
import { createHash } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { toTokens, toValidUsage } from './messages.ts';
import { reserveStep, settleStep, type TurnSpend } from './step-costs.ts';
import type { SentCall } from './step-messages.ts';

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** The model's reply to one call. */
interface SaidStep {
  readonly content: string;
  readonly tool_calls: readonly SentCall[];
  readonly is_cut: boolean;
  readonly usage: Usage | null;
  readonly model: string;
}

export interface StepCall extends SentCall {
  readonly status: 'success' | 'error';
  /** The result that the model receives. Null if the person's answer will be the result. */
  readonly results: string | null;
}

/** One model call, and the tool calls that it requested. A turn that is run again is rebuilt from its step records. */
export interface StepRecord {
  readonly content: string;
  readonly tool_calls: readonly StepCall[];
  /** Whether the model stopped because its output was too long. */
  readonly is_cut: boolean;
  /** Null if the model did not report its usage. */
  readonly usage: Usage | null;
  /** The reported number, or an estimate if none was reported. */
  readonly tokens: number;
  readonly model: string;
  /**
   * One key per tool call, derived from the call and the state of the work. A repeated key means that the same call was
   * made and nothing has changed in between.
   */
  readonly call_keys: readonly string[];
}

/** A step that was started but not recorded. */
export interface BegunStep {
  readonly number: number;
  readonly reservation_id: string | null;
}

/** A turn's steps so far. */
export interface TurnSteps<Recorded extends StepRecord> {
  readonly records: Recorded[];
  /** The step that a crashed worker had started. */
  begun: BegunStep | undefined;
}

/** The input for the next model call. */
export interface Prompt {
  /** An estimate of the prompt's tokens. */
  readonly promptTokens: number;
  /** The ids of this turn's calls whose results the prompt still contains. */
  readonly knownCalls: ReadonlySet<string>;
}

export type LimitReached = 'repeated_call' | 'step_limit' | 'time_limit';

/** An agent, and the turn that it works on. `Turn` is the type of the turn's row. */
export interface Agent<Turn, Sent extends Prompt, Recorded extends StepRecord, End> {
  readonly clock: Clock;
  readonly steps: TurnSteps<Recorded>;
  readonly maxSteps: number;

  /** Runs a transaction with the turn locked. Throws ClaimLost if this worker has lost its claim. */
  asWorker<Result>(change: (db: Db, turn: Turn) => Promise<Result>): Promise<Result>;

  insertStep(db: Db, turn: Turn, step: BegunStep, now: Date): Promise<void>;
  /** Saves a step's record and everything that follows from it. */
  saveStep(db: Db, turn: Turn, step: BegunStep, record: Recorded, now: Date): Promise<void>;

  toSpend(turn: Turn): TurnSpend;
  /** The credits to reserve for a step, and the credits to charge for it. */
  computeReserved(tokens: number): number;
  computeCharged(tokens: number): number;

  /** Builds the prompt for the next step. Throws if the person no longer has access. */
  buildPrompt(): Promise<Sent>;
  /** Returns the outcome if the turn is over, so no further step is needed. */
  findEnd(prompt: Sent): End | undefined;
  isTimeUp(): boolean;
  /** Gets the model's reply. Throws if there is none. */
  ask(prompt: Sent): Promise<SaidStep>;
  /** Opens the tools for one step's calls. */
  openTools(prompt: Sent): StepTools<Recorded>;
  /** Returns the outcome if the turn ended with this step. */
  afterStep(record: Recorded): Promise<End | undefined>;

  /** Returns the error that ends the turn when a limit is reached. */
  refuse(limit: LimitReached): Error;
  /** Returns the error that ends the turn when a step can't be started. */
  refuseStep(problem: Problem): Error;
}

export interface StepTools<Recorded extends StepRecord> {
  /** A string that changes only when the work changes. */
  getState(): string;
  /** Returns the reason why this step may not run any more calls, or undefined if it may. */
  findRefusal(): string | undefined;
  /** The result for a call that was made too often. */
  readonly repeatedCall: string;
  run(call: SentCall, refusal: string | undefined): Promise<Pick<StepCall, 'status' | 'results'>>;
  /** Completes the record after all calls have ended. */
  complete(step: StepRecord): Promise<Recorded>;
}

export const maxRepeats = 3;
const callsPerStep = 16;
const estimatedReplyTokens = 1_000;

/** Throws the error that `refuse` returns, one of the agent's errors, or ClaimLost. */
export async function runLoop<Turn, Sent extends Prompt, Recorded extends StepRecord, End>(
  agent: Agent<Turn, Sent, Recorded, End>,
): Promise<End> {
  const { records } = agent.steps;
  for (;;) {
    const prompt = await agent.buildPrompt();
    const knownKeys = listKnownKeys(records, prompt.knownCalls);
    if (hasRepeat(knownKeys)) throw agent.refuse('repeated_call');
    const end = agent.findEnd(prompt);
    if (end !== undefined) return end;
    if (records.length >= agent.maxSteps) throw agent.refuse('step_limit');
    if (agent.isTimeUp()) throw agent.refuse('time_limit');
    const step = await beginStep(agent, prompt);
    const said = await agent.ask(prompt);
    const record = await runCalls(agent, prompt, said, knownKeys);
    await recordStep(agent, step, record);
    const endAfter = await agent.afterStep(record);
    if (endAfter !== undefined) return endAfter;
  }
}

/**
 * Reserves credits and inserts the step's row. If a crashed worker already started the step, its reservation is reused.
 */
async function beginStep<Turn, Sent extends Prompt, Recorded extends StepRecord, End>(
  agent: Agent<Turn, Sent, Recorded, End>,
  { promptTokens }: Sent,
): Promise<BegunStep> {
  const { records, begun } = agent.steps;
  if (begun !== undefined) return begun;
  const now = agent.clock.now();
  const credits = agent.computeReserved(promptTokens + estimatedReplyTokens);
  try {
    return await agent.asWorker(async (db, turn) => {
      const reservation = await reserveStep(db, agent.toSpend(turn), credits, now);
      const step = { number: records.length + 1, reservation_id: reservation?.id ?? null };
      await agent.insertStep(db, turn, step, now);
      return step;
    });
  } catch (error) {
    throw error instanceof Problem ? agent.refuseStep(error) : error;
  }
}

/** Runs the calls that the model requested, one at a time. */
async function runCalls<Turn, Sent extends Prompt, Recorded extends StepRecord, End>(
  agent: Agent<Turn, Sent, Recorded, End>,
  prompt: Sent,
  said: SaidStep,
  knownKeys: readonly string[],
): Promise<Recorded> {
  const tools = agent.openTools(prompt);
  const tool_calls: StepCall[] = [];
  const call_keys: string[] = [];
  // Of the calls beyond the limit, only the first is kept. Its result tells the model about the others.
  const calls = numberCalls(said.tool_calls.slice(0, callsPerStep + 1), agent.steps.records.length + 1);
  for (const [index, call] of calls.entries()) {
    if (index < callsPerStep) call_keys.push(toCallKey(call, tools.getState()));
    const isRepeat = hasRepeat([...knownKeys, ...call_keys]);
    const refusal =
      index >= callsPerStep
        ? tooManyCalls(said.tool_calls.length - index)
        : (tools.findRefusal() ?? (isRepeat ? tools.repeatedCall : undefined));
    tool_calls.push({ ...call, ...(await tools.run(call, refusal)) });
    if (isRepeat) break;
  }
  const { content, is_cut, model } = said;
  const usage = toValidUsage(said.usage);
  const tokens = countTokens(said, prompt.promptTokens);
  return tools.complete({ content, tool_calls, is_cut, usage, tokens, model, call_keys });
}

/** Records a step and charges for it, in one transaction. */
async function recordStep<Turn, Sent extends Prompt, Recorded extends StepRecord, End>(
  agent: Agent<Turn, Sent, Recorded, End>,
  step: BegunStep,
  record: Recorded,
): Promise<void> {
  const now = agent.clock.now();
  const credits = agent.computeCharged(record.tokens);
  await agent.asWorker(async (db, turn) => {
    const reservation_id = await settleStep(db, agent.toSpend(turn), step, credits, now);
    await agent.saveStep(db, turn, { ...step, reservation_id }, record, now);
  });
  agent.steps.records.push(record);
  agent.steps.begun = undefined;
}

/** Gives the calls ids that are unique within the turn. */
export const numberCalls = <Call extends SentCall>(calls: readonly Call[], step: number): Call[] =>
  calls.map((call, index) => ({ ...call, id: `call_${step}_${index + 1}` }));

const tooManyCalls = (count: number) =>
  `Not run: at most ${callsPerStep} calls in one step. Calls that were not run, with this one: ${count}. Make them again.`;

const toCallKey = ({ name, arguments_string }: SentCall, state: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, arguments_string, state]))
    .digest('base64url');

/**
 * The keys of the calls whose results the prompt still contains. For all other calls, the model is told to repeat them
 * if necessary.
 */
const listKnownKeys = (records: readonly StepRecord[], knownCalls: ReadonlySet<string>): string[] =>
  records.flatMap(({ tool_calls, call_keys }) =>
    call_keys.filter((_key, index) => knownCalls.has(tool_calls[index]?.id ?? '')),
  );

function hasRepeat(callKeys: readonly string[]): boolean {
  const counts = new Map<string, number>();
  for (const key of callKeys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= maxRepeats);
}

export function countTokens(said: Pick<SaidStep, 'content' | 'tool_calls' | 'usage'>, promptTokens: number): number {
  const usage = toValidUsage(said.usage);
  if (usage) return usage.prompt_tokens + usage.completion_tokens;
  return promptTokens + toTokens(said.content.length + JSON.stringify(said.tool_calls).length);
}
