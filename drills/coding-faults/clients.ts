// The drill's clients. Each launches one session, then answers, adds a message or cancels, as its script says.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallResult } from '../../server/test/support/client.ts';
import type { Control, Hold } from './control.ts';
import type { DrillModel } from './model.ts';
import { addition, options, promptOf } from './plays.ts';
import {
  createRequests,
  type DrillApp,
  type RequestDeps,
  type SessionAnswer,
  type SessionRequests,
} from './requests.ts';
import type { Boundary, Kind, Script } from './scripts.ts';

/** A session's outcome. */
export interface Ending {
  readonly script: Script;
  readonly app: DrillApp;
  readonly last: SessionAnswer;
  /** The state in which the session was cancelled. */
  readonly cancelledFrom: string | undefined;
  /** The time from the client's last action until the session ended. */
  readonly settledMs: number;
  /** Descriptions of incorrect responses. */
  readonly faults: readonly string[];
}

export interface ClientDeps extends RequestDeps {
  readonly control: Control;
  readonly model: DrillModel;
}

interface Act {
  readonly script: Script;
  readonly requests: SessionRequests;
  /** The hold at the boundary where sessions of this kind are interrupted. */
  readonly hold: Hold | undefined;
  /** Resolves when the model is asked for the command that never ends. */
  readonly commandAsked: Promise<void> | undefined;
  complain(sentence: string): void;
  cancelsFrom(state: string): void;
  /** Called when the client has completed an action. */
  done(): void;
}

/** The boundaries at which sessions of these kinds wait for their client. */
const heldAt: Partial<Record<Kind, Boundary>> = {
  folded_message: 'model_answered',
  cancel_queued: 'claimed',
  cancel_running: 'model_answered',
  cancel_opening: 'moved_to_opening',
  cancel_created: 'pull_request_created',
};

const sleepingStep = 4;

export async function runClient(deps: ClientDeps, script: Script, app: DrillApp): Promise<Ending> {
  const { number, kind } = script;
  const requests = createRequests(deps, script, app);
  const faults: string[] = [];
  let doneAt = performance.now();
  let cancelledFrom: string | undefined;
  const boundary = heldAt[kind];
  const act: Act = {
    script,
    requests,
    hold: boundary && deps.control.hold(script, boundary),
    commandAsked: kind === 'cancel_command' ? deps.model.whenAsked(number, sleepingStep) : undefined,
    complain: (sentence) => void faults.push(`session ${number} (${kind}): ${sentence}`),
    cancelsFrom: (state) => {
      cancelledFrom = state;
    },
    done: () => {
      doneAt = performance.now();
    },
  };
  const launched = await requests.launch(script.launches, (id) => deps.control.register(id, script));
  for (const got of launched) expectSuccess(act, got, 'a launch');
  const ids = new Set(launched.map(({ body }) => body?.id));
  if (ids.size > 1) act.complain(`one key launched ${ids.size} sessions`);
  await acts[kind]?.(act);
  const last = await requests.waitForEnd();
  deps.control.release(last.id);
  const settledMs = Math.round(performance.now() - doneAt);
  requests.record({ action: 'settled', state: last.state, ms: settledMs });
  return { script, app, last, cancelledFrom, settledMs, faults };
}

const acts: Partial<Record<Kind, (act: Act) => Promise<void>>> = {
  question: (act) =>
    answer(act, { answers: [{ question_index: 0, selected_label: options[act.script.number % options.length] }] }),
  approval: (act) => answer(act, { approve: true }),
  async follow_up(act) {
    const { state } = await act.requests.waitForEnd();
    if (state !== 'completed') return act.complain(`the first turn ended as ${state}`);
    await sleep(act.script.pauseMs);
    expectSuccess(act, await act.requests.send('message', { text: promptOf(act.script, 2) }), 'the follow-up');
  },
  async folded_message(act) {
    await waitUntilHeld(act);
    const got = await act.requests.send('message', { text: addition });
    expectSuccess(act, got, 'a message');
    interrupt(act);
    await act.requests.waitForEnd();
    const { state } = await act.requests.readMessage(got.body?.input_id);
    if (state !== 'delivered') act.complain(`the message is ${state}`);
  },
  cancel_queued: cancelWhenHeld,
  cancel_running: cancelWhenHeld,
  cancel_opening: cancelWhenHeld,
  cancel_created: cancelWhenHeld,
  async cancel_needs_input(act) {
    await waitForInput(act);
    await sleep(act.script.pauseMs);
    await cancel(act);
  },
  async cancel_command(act) {
    await Promise.race([act.commandAsked, act.requests.waitForEnd()]);
    await sleep(1_000); // until the command is running
    await cancel(act);
  },
};

/** Answers the wrong question first, then the right one after a pause, and then the right one again. */
async function answer(act: Act, body: object): Promise<void> {
  const { requests, script } = act;
  const input_request_id = await waitForInput(act);
  if (input_request_id === null) return act.complain('did not ask for input');
  const stale = await requests.send('stale_answer', { ...body, input_request_id: randomUUID() });
  expectRefusal(act, stale, 'an answer to another question', 'input_request_changed');
  await sleep(script.pauseMs);
  const right = { ...body, input_request_id };
  const key = randomUUID();
  const [first, second] = await Promise.all([
    requests.send('answer', right, key),
    requests.send('answer', right, key),
  ] as const);
  expectSuccess(act, first, 'the answer');
  if (first.body?.input_id !== second.body?.input_id) act.complain('one answer became two inputs');
  const late = await requests.send('second_answer', right);
  expectRefusal(act, late, 'a second answer', 'session_not_waiting', 'input_request_changed', 'session_busy');
}

async function waitForInput({ requests }: Act): Promise<string | null> {
  const isReached = ({ state }: SessionAnswer) => ['needs_input', 'completed', 'failed', 'cancelled'].includes(state);
  return (await requests.waitFor(isReached)).input_request_id;
}

async function cancelWhenHeld(act: Act): Promise<void> {
  await waitUntilHeld(act);
  await cancel(act);
}

const waitUntilHeld = ({ hold, requests }: Act) => Promise.race([hold?.arrived, requests.waitForEnd()]);

async function cancel(act: Act): Promise<void> {
  act.cancelsFrom((await act.requests.read()).state);
  expectSuccess(act, await act.requests.cancel(), 'the cancellation');
  interrupt(act);
}

/** Kills the waiting worker in every second session, and otherwise lets it continue. */
function interrupt({ hold, script }: Act): void {
  if (script.number % 2 === 1) hold?.kill();
  else hold?.release();
}

function expectSuccess(act: Act, { status, text }: CallResult, what: string): void {
  if (status !== 200) act.complain(`${what} was answered ${status}: ${text.slice(0, 200)}`);
  act.done();
}

function expectRefusal(act: Act, { status, body }: CallResult, what: string, ...codes: string[]): void {
  if (status !== 409 || !codes.includes(body?.code))
    act.complain(`${what} was answered ${status} ${body?.code ?? ''}, not 409 ${codes.join(' or ')}`);
}
