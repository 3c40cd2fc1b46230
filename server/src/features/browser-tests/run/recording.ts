// Recordings: reading a stored recording, and finding the recorded actions that the agent's actions replace.
import { z } from 'zod';
import type { Check, PageAction } from '../../../gateways/browser/session/types.ts';
import { runLimits } from './limits.ts';
import type { Healing, RecordedAction, RecordedCheck, RecordedStep, Recording } from './types.ts';
import { describeAction, shorten } from './words.ts';

const text = z.string().max(4_000);
const target = z.strictObject({
  role: text,
  name: text,
  within: text.nullable(),
  label: text.nullable(),
  placeholder: text.nullable(),
  text: text.nullable(),
  test_id: text.nullable(),
  is_destructive: z.boolean(),
});
const place = z.strictObject({ target });
const confirms = z.boolean().optional();
const check = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['visible', 'hidden']), place }),
  z.strictObject({ kind: z.enum(['text', 'no_text']), text, place: place.nullable() }),
  z.strictObject({ kind: z.literal('value'), place, value: text }),
  z.strictObject({ kind: z.literal('count'), role: text, name: text.nullable(), count: z.int() }),
  z.strictObject({ kind: z.literal('url'), contains: text }),
  z.strictObject({ kind: z.literal('fits') }),
]);
const action = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('open'), path: text }),
  z.strictObject({ action: z.literal('click'), place, confirms }),
  z.strictObject({ action: z.literal('type'), place, text, submit: z.boolean(), confirms }),
  z.strictObject({ action: z.literal('select'), place, option: text, confirms }),
  z.strictObject({ action: z.literal('resize'), width: z.int(), height: z.int() }),
  z.strictObject({ action: z.literal('wait'), check }),
]);
const recording = z.strictObject({
  version: z.literal(1),
  steps: z
    .array(z.union([z.strictObject({ action }), z.strictObject({ check, expectation: text })]))
    .max(runLimits.steps),
});

/** Returns null if there is no recording or this version can't replay it. The agent then works without a recording. */
export function readRecording(stored: unknown): Recording | null {
  const parsed = recording.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

export const isCheck = (step: RecordedStep): step is RecordedCheck => 'check' in step;
export const isAction = (step: RecordedStep): step is RecordedAction => 'action' in step;

/** The text that the step types or selects, which later steps may expect to see. */
export function getTyped(step: RecordedStep): string {
  if (!isAction(step)) return '';
  if (step.action.action === 'select') return step.action.option;
  return step.action.action === 'type' ? step.action.text : '';
}

/** UUIDs and other long hexadecimal ids, numbers with six or more digits, and dates. */
const ownValues =
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\d{6,}|\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b/gi;

/**
 * Whether the step opens or expects a value that is specific to this run, such as a record's id or today's date. Values
 * that occur in a known text are not specific.
 */
export function hasNewValue(step: RecordedStep, known: readonly string[]): boolean {
  const values = listExpected(step).flatMap((text) => text.match(ownValues) ?? []);
  return values.some((value) => !known.some((text) => text.toLowerCase().includes(value.toLowerCase())));
}

function listExpected(step: RecordedStep): readonly string[] {
  if (isAction(step)) {
    if (step.action.action === 'open') return [step.action.path];
    return step.action.action === 'wait' ? listTexts(step.action.check) : [];
  }
  return listTexts(step.check);
}

function listTexts(check: Check): readonly string[] {
  const name = 'place' in check && check.place !== null && 'target' in check.place ? [check.place.target.name] : [];
  switch (check.kind) {
    case 'text':
    case 'no_text':
      return [check.text, ...name];
    case 'value':
      return [check.value, ...name];
    case 'count':
      return check.name === null ? [] : [check.name];
    case 'url':
      return [check.contains];
    default:
      return name;
  }
}

/** The recorded actions that were not replayed, and which of them the agent's actions replace. */
export interface PendingActions {
  /** Returns null if the action matches the next recorded one. */
  replace(done: PageAction, words: string): Healing | null;
  /** Describes the recorded actions that are still pending. Returns null if there are none. */
  leaveOut(): Healing | null;
  /** The number of recorded actions that were neither repeated nor replaced by an action of the same kind. */
  countLeftOut(): number;
}

/**
 * Example: the pending actions are `Click "Add"` (not found), `Click "Save"` and `Click "Close"`. The agent's `Click
 * "Create"` replaces "Add", and its `Click "Close"` then replaces both "Save" and "Close". "Save" counts as left out,
 * unless the agent clicked something else in between.
 */
export function listPending(actions: readonly RecordedAction[]): PendingActions {
  if (actions.length === 0) return { replace: () => null, leaveOut: () => null, countLeftOut: () => 0 };
  let pending = actions.map(({ action }) => action);
  let unrecorded: PageAction[] = [];
  let [isFirst, leftOut] = [true, 0];
  const take = (count: number) => {
    const taken = pending.slice(0, count);
    pending = pending.slice(count);
    return describeAll(taken);
  };
  return {
    replace(done, words) {
      const at = pending.findIndex((action) => describeAction(action) === words);
      if (at >= 0) {
        isFirst = false;
        leftOut += countUnreplaced(pending.slice(0, at), unrecorded);
        unrecorded = [];
        const before = take(at + 1);
        return at === 0 ? null : { before, after: words };
      }
      if (isFirst && pending[0] !== undefined && isOfSameKind(pending[0], done)) {
        isFirst = false;
        return { before: take(1), after: words };
      }
      unrecorded.push(done);
      return { before: 'Not recorded', after: words };
    },
    countLeftOut: () => leftOut + countUnreplaced(pending, unrecorded),
    leaveOut: () => (pending.length === 0 ? null : { before: describeAll(pending), after: 'Left out' }),
  };
}

const describeAll = (actions: readonly PageAction[]): string =>
  shorten(actions.map((action) => describeAction(action)).join('; '));

/** Each of the agent's actions can replace at most one recorded action, in order. */
function countUnreplaced(recorded: readonly PageAction[], done: readonly PageAction[]): number {
  let next = 0;
  return recorded.filter((action) => {
    if (action.action === 'wait') return false; // a wait changes nothing on the page
    const at = done.findIndex((each, index) => index >= next && isOfSameKind(action, each));
    if (at >= 0) next = at + 1;
    return at < 0;
  }).length;
}

/**
 * The action may use a different element, but must have the same text or option. A click may replace opening a page,
 * because it may follow a link.
 */
function isOfSameKind(recorded: PageAction, done: PageAction): boolean {
  if (recorded.action === 'type') return done.action === 'type' && done.text === recorded.text;
  if (recorded.action === 'select') return done.action === 'select' && done.option === recorded.option;
  return done.action === recorded.action || (recorded.action === 'open' && done.action === 'click');
}
