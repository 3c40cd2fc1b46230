// Owns recordings: reading a stored one, and the order in which its actions are replaced when the agent has to go on.
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

/** Null if it is none, or one that this version can't replay: the agent then finds its own way again. */
export function readRecording(stored: unknown): Recording | null {
  const parsed = recording.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

export const isCheck = (step: RecordedStep): step is RecordedCheck => 'check' in step;
export const isAction = (step: RecordedStep): step is RecordedAction => 'action' in step;

/** What the step types or selects. A later step may well expect it. */
export function getTyped(step: RecordedStep): string {
  if (!isAction(step)) return '';
  if (step.action.action === 'select') return step.action.option;
  return step.action.action === 'type' ? step.action.text : '';
}

/** UUIDs and other long hexadecimal ids, numbers of six digits and more, and dates. */
const ownValues =
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\d{6,}|\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b/gi;

/** Whether the step opens or expects a value of this one run, such as the id of a record, or today: none of the texts has it. */
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

/** The recorded actions that were not replayed, if any. Says of each action of the agent what it replaces. */
export interface PendingActions {
  /** Null if the action is the next recorded one. */
  replace(done: PageAction, words: string): Healing | null;
  /** What nobody has repeated. */
  leaveOut(): Healing | null;
  /** How many were neither repeated nor replaced by an action of the same kind. */
  countLeftOut(): number;
}

/**
 * Recorded: `Click "Add"` (not found), `Click "Save"`, `Click "Close"`. The agent: `Click "Create"` replaces "Add",
 * `Click "Close"` replaces "Save" and "Close". "Save" was left out, unless the agent clicked something else in between.
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

/** Each action of the agent stands for one recorded action at most, in their order. */
function countUnreplaced(recorded: readonly PageAction[], done: readonly PageAction[]): number {
  let next = 0;
  return recorded.filter((action) => {
    if (action.action === 'wait') return false; // decides nothing
    const at = done.findIndex((each, index) => index >= next && isOfSameKind(action, each));
    if (at >= 0) next = at + 1;
    return at < 0;
  }).length;
}

/** Elsewhere on the page, but with the same text or option. A page may be opened by a link too. */
function isOfSameKind(recorded: PageAction, done: PageAction): boolean {
  if (recorded.action === 'type') return done.action === 'type' && done.text === recorded.text;
  if (recorded.action === 'select') return done.action === 'select' && done.option === recorded.option;
  return done.action === recorded.action || (recorded.action === 'open' && done.action === 'click');
}
