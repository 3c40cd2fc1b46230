// Performs one step of a run: an action or a check on the page, a screenshot of the result, and the report's
// entry. The screenshot is stored while the next step runs. Steps that can be replayed are added to the new recording.
import type {
  ActionOutcome,
  BrowserSession,
  Check,
  CheckOutcome,
  PageAction,
  Target,
} from '../../../gateways/browser/session/types.ts';
import { toStorable } from '../../../kit/text.ts';
import { fillCredentials, hideCredentials, passwordPlaceholder } from './credentials.ts';
import type { RunLimits } from './limits.ts';
import { getTyped, hasNewValue } from './recording.ts';
import { findInTree, toTarget } from './snapshot.ts';
import type { Healing, RecordedCheck, RecordedStep, RunDeps, RunInput, RunResult, RunStep } from './types.ts';
import { describeAction, describeCheck, describeElement, describeFound, type NameRef, shorten } from './words.ts';

/** A run's state and dependencies. */
export interface Run {
  readonly session: BrowserSession;
  readonly input: RunInput;
  readonly deps: RunDeps;
  readonly limits: RunLimits;
  readonly deadline: Date;
  /** Aborted if the run is cancelled or takes too long. */
  readonly signal: AbortSignal;
  readonly steps: RunStep[];
  readonly recorded: RecordedStep[];
  /** False once a step can't be replayed, for example because its element can't be described. */
  isReplayable: boolean;
  modelCalls: number;
  /** Elements that were found in place of recorded targets. */
  readonly healedTargets: { readonly before: Target; readonly now: Target }[];
  /** The numbers of the recorded expectations that were evaluated, starting at 1. */
  readonly evaluated: Set<number>;
  /** The number of recorded actions that the agent has left out. */
  leftOut: number;
  /** Settles when `onStep` has handled the last step. */
  lastStep: Promise<void>;
}

type Source = RunStep['source'];

/** Returns the reason why no further step may be taken, if there is one. */
export function findLimit({ deps, steps, limits, deadline }: Run): RunResult['ended'] | undefined {
  if (deps.signal.aborted) return 'cancelled';
  if (deps.clock.now() >= deadline) return 'time_limit';
  return steps.length >= limits.steps ? 'step_limit' : undefined;
}

/** Opens the run's start page. This is not recorded, because another run may start on a different page. */
export async function openStart(run: Run, source: Source): Promise<ActionOutcome> {
  const { pathname, search, hash } = new URL(run.input.url);
  const action = { action: 'open', path: `${pathname}${search}${hash}` } as const;
  const outcome = await act(run, action);
  await addStep(run, { action: describeAction(action), result: describeOutcome(outcome), source });
  return outcome;
}

/** Returns the recorded actions that a completed action replaces. */
export type FindHealing = (done: PageAction, words: string) => Healing | null;

/** Performs one of the agent's actions, whose refs come from the tree. */
export async function takeAction(
  run: Run,
  action: PageAction,
  tree: string,
  findHealing: FindHealing,
): Promise<ActionOutcome> {
  const before = action.action === 'wait' ? await findLeaving(run, action.check, tree) : null;
  const outcome = await act(run, action);
  const isDone = outcome.outcome === 'done';
  const placed = isDone ? placeAction(action, outcome.target ?? before) : undefined;
  const words = describeAction(placed ?? action, nameIn(tree));
  if (isDone) recordNew(run, placed && { action: noteConfirm(placed, outcome) });
  const healed = isDone ? findHealing(placed ?? action, words) : null;
  await addStep(run, { action: words, result: describeOutcome(outcome), source: 'agent', healed });
  return outcome;
}

export async function replayAction(run: Run, action: PageAction): Promise<ActionOutcome> {
  const outcome = await act(run, action);
  const healed = outcome.outcome === 'done' ? findReplacement(run, action, outcome) : undefined;
  if (outcome.outcome === 'done') record(run, { action: noteConfirm(healed?.action ?? action, outcome) });
  await addStep(run, {
    action: describeAction(action),
    result: healed === undefined ? describeOutcome(outcome) : `Done with ${healed.healing.after}.`,
    source: 'replayed',
    healed: healed?.healing ?? null,
  });
  return outcome;
}

/**
 * Evaluates one of the agent's checks, whose refs come from the tree. If the check's element is ambiguous, returns
 * undefined and adds no step.
 */
export async function takeCheck(run: Run, check: Check, tree: string): Promise<CheckOutcome | undefined> {
  const before = await findLeaving(run, check, tree);
  const outcome = await evaluate(run, check);
  if (!outcome.holds && (await isAmbiguous(run, check))) return undefined;
  const placed = placeCheck(check, outcome.target ?? before);
  const expectation = describeCheck(placed ?? check, nameIn(tree));
  recordNew(run, placed && { check: placed, expectation });
  await addCheck(run, expectation, outcome, { source: 'agent' });
  return outcome;
}

/**
 * Evaluates a recorded check. The expectation never changes, but the element may have a different name now. If this
 * check or an earlier action found the element by a different feature, the step records the change.
 */
export async function replayCheck(
  run: Run,
  number: number,
  { check, expectation }: RecordedCheck,
  source: Source,
): Promise<CheckOutcome> {
  const carried = findHealedTarget(run, check);
  const moved = carried === undefined ? check : withTarget(check, carried);
  const outcomes = [];
  // An element that must be absent must also be absent under its old name.
  for (const each of moved !== check && isAbsence(check) ? [check, moved] : [moved])
    outcomes.push(await evaluate(run, each));
  const outcome = outcomes.find(({ holds }) => !holds) ?? (outcomes.at(-1) as CheckOutcome);
  const found = withTarget(moved, outcome.target ?? undefined);
  run.evaluated.add(number);
  record(run, { check: found, expectation });
  await addCheck(run, expectation, outcome, { source, healed: compareTargets(getTarget(check), getTarget(found)) });
  return outcome;
}

/** Records that the agent has finished, with its summary. The summary does not influence the verdict. */
export async function takeFinish(run: Run, summary: string, healed: Healing | null): Promise<void> {
  run.session.beginStep(run.steps.length + 1);
  await addStep(run, { action: 'Finish', result: summary, source: 'agent', healed });
}

/** Whether the checked element's role and name match several elements. */
async function isAmbiguous({ session, signal }: Run, check: Check): Promise<boolean> {
  const target = getTarget(check);
  if (target === undefined || check.kind === 'visible' || check.kind === 'hidden') return false;
  const { role, name } = target;
  const { seen } = await session.check({ kind: 'count', role, name, count: 1 }, signal, 0);
  return Number.parseInt(seen, 10) > 1;
}

/** If the check expects an element to disappear, describes the element while it still exists. */
async function findLeaving(run: Run, check: Check, tree: string): Promise<Target | null> {
  if (!isAbsence(check) || !('place' in check) || check.place === null || !('ref' in check.place)) return null;
  const { target } = await run.session.check({ kind: 'visible', place: check.place }, run.signal, 0);
  const element = findInTree(tree, check.place.ref);
  return target ?? (element === undefined || element.name === '' ? null : toTarget(element));
}

const nameIn =
  (tree: string): NameRef =>
  (ref) => {
    const element = findInTree(tree, ref);
    return element === undefined ? `element ${ref}` : describeElement(element);
  };

const isAbsence = ({ kind }: Check): boolean => kind === 'hidden' || kind === 'no_text';

async function act(run: Run, action: PageAction): Promise<ActionOutcome> {
  run.session.beginStep(run.steps.length + 1);
  const outcome = await run.session.act(fillCredentials(markSecret(action), run.input.testUser), run.signal);
  return hideCredentials(outcome, run.input.testUser);
}

/** The password may be typed only into the app, not into pages that the app links to or embeds in a frame. */
const markSecret = (action: PageAction): PageAction =>
  action.action === 'type' && action.text.includes(passwordPlaceholder) ? { ...action, secret: true } : action;

async function evaluate(run: Run, check: Check): Promise<CheckOutcome> {
  run.session.beginStep(run.steps.length + 1);
  const { session, input, signal, limits } = run;
  const outcome = await session.check(fillCredentials(check, input.testUser), signal, limits.checkMs);
  return hideCredentials(outcome, run.input.testUser);
}

const addCheck = (
  run: Run,
  expectation: string,
  { holds, seen }: CheckOutcome,
  { source, healed = null }: { source: Source; healed?: Healing | null },
): Promise<void> =>
  addStep(run, {
    action: `Check that ${expectation}`,
    result: holds ? 'It holds.' : `It does not hold: ${seen}`,
    source,
    check: { holds, expectation: shorten(expectation), seen: shorten(seen) },
    healed,
  });

type StepParts = Pick<RunStep, 'action' | 'result' | 'source'> & Partial<Pick<RunStep, 'check' | 'healed'>>;

async function addStep(run: Run, { action, result, source, check = null, healed = null }: StepParts): Promise<void> {
  const { steps, session, deps, input } = run;
  const screenshot = await takeScreenshot(session);
  const words = { action: shorten(action), result: shorten(result), source, check, healed };
  const step = {
    ...hideCredentials(toStorable(words), input.testUser),
    number: steps.length + 1,
    at: deps.clock.now(),
  };
  steps.push(step);
  await run.lastStep;
  run.lastStep = deps.onStep(step, screenshot);
  run.lastStep.catch(() => {}); // the next await of `lastStep` rethrows the error
}

/** A page that hangs before it has rendered anything has no screenshot. */
async function takeScreenshot(session: BrowserSession): Promise<Buffer> {
  try {
    return await session.screenshot();
  } catch (error) {
    if (await isGone(session)) throw error;
    return Buffer.alloc(0);
  }
}

export const isGone = async ({ gone }: BrowserSession): Promise<boolean> =>
  (await Promise.race([gone, undefined])) !== undefined;

function record(run: Run, step: RecordedStep | undefined): void {
  if (step === undefined) run.isReplayable = false;
  else run.recorded.push(toStorable(hideCredentials(step, run.input.testUser)));
}

/**
 * Records one of the agent's steps. If the step depends on a value that is specific to this run, the run can't be
 * replayed.
 */
function recordNew(run: Run, step: RecordedStep | undefined): void {
  record(run, step);
  const recorded = run.recorded.at(-1);
  if (step === undefined || recorded === undefined) return;
  if (hasNewValue(recorded, [run.input.goal, run.input.url, ...run.recorded.map(getTyped)])) run.isReplayable = false;
}

const describeOutcome = (outcome: ActionOutcome): string => (outcome.outcome === 'done' ? 'Done.' : outcome.why);

/** The action, with the target that it was performed on. Undefined if the target is unknown. */
function placeAction(action: PageAction, target: Target | null): PageAction | undefined {
  if (action.action === 'wait') {
    const check = placeCheck(action.check, target);
    return check && { ...action, check };
  }
  if (!('place' in action) || 'target' in action.place) return action;
  return target === null ? undefined : { ...action, place: { target } };
}

/** Records whether the browser asked for confirmation this time, and discards any earlier value. */
function noteConfirm(action: PageAction, { confirmed }: DoneAction): PageAction {
  if (action.action !== 'click' && action.action !== 'type' && action.action !== 'select') return action;
  const { confirms: _, ...rest } = action;
  return confirmed ? { ...rest, confirms: true } : rest;
}

function placeCheck(check: Check, target: Target | null): Check | undefined {
  if (!('place' in check) || check.place === null || 'target' in check.place) return check;
  return target === null ? undefined : { ...check, place: { target } };
}

// ---- healing

type DoneAction = Extract<ActionOutcome, { outcome: 'done' }>;

/** The replacement for a recorded action, if its element was replaced or renamed. */
function findReplacement(run: Run, action: PageAction, { now, found_by }: DoneAction) {
  if (!('place' in action) || !('target' in action.place) || now === null || found_by === null) return undefined;
  const { target } = action.place;
  if (isSame(target, now)) return undefined;
  // The only element with this role may be a different element. The action uses it, but checks must not rely on it.
  if (found_by !== 'only_such_role') run.healedTargets.push({ before: target, now });
  const healing = { before: describeElement(target), after: describeFound(now, found_by) };
  return { action: { ...action, place: { target: now } }, healing };
}

function findHealedTarget({ healedTargets }: Run, check: Check): Target | undefined {
  const target = getTarget(check);
  return target && healedTargets.findLast(({ before }) => isMeant(target, before))?.now;
}

/** A check that identifies its element only by role and name does not depend on the element's position. */
const isMeant = (target: Target, before: Target): boolean =>
  isSame(target, before) || (target.within === null && isSame(target, { ...before, within: null }));

const getTarget = (check: Check): Target | undefined =>
  'place' in check && check.place !== null && 'target' in check.place ? check.place.target : undefined;

/** Sets the check's target to this element, if the check has a target. */
const withTarget = <Each extends Check>(check: Each, target: Target | undefined): Each =>
  target === undefined || getTarget(check) === undefined ? check : { ...check, place: { target } };

const compareTargets = (before: Target | undefined, after: Target | undefined): Healing | null =>
  before === undefined || after === undefined || isSame(before, after)
    ? null
    : { before: describeElement(before), after: describeElement(after) };

const toKey = ({ role, name, within }: Target): string => JSON.stringify([role, name, within]);
const isSame = (one: Target, other: Target): boolean => toKey(one) === toKey(other);
