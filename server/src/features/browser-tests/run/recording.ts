// Owns recordings: reading a stored one, and the order in which its actions are replaced when the agent has to go on.
import { z } from 'zod';
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
  z.strictObject({ action: z.literal('click'), place }),
  z.strictObject({ action: z.literal('type'), place, text, submit: z.boolean() }),
  z.strictObject({ action: z.literal('select'), place, option: text }),
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

/** The recorded actions that were not replayed, if any. Says of each action of the agent what it replaces. */
export interface PendingActions {
  /** Null if the action is the next recorded one. */
  replace(done: string): Healing | null;
  /** What nobody has replaced. */
  leaveOut(): Healing | null;
}

/**
 * Recorded: `Click "Add"` (not found), `Click "Save"`, `Click "Close"`. The agent: `Click "Create"` replaces "Add",
 * `Click "Close"` replaces "Save" and "Close", because "Save" was skipped.
 */
export function listPending(actions: readonly RecordedAction[]): PendingActions {
  if (actions.length === 0) return { replace: () => null, leaveOut: () => null };
  let pending = actions.map(({ action }) => describeAction(action));
  let isFirst = true;
  const take = (count: number) => {
    const taken = pending.slice(0, count);
    pending = pending.slice(count);
    return shorten(taken.join('; '));
  };
  return {
    replace(done) {
      const at = pending.indexOf(done);
      const replacesFirst = isFirst && at < 0;
      isFirst = false;
      if (at === 0) {
        take(1);
        return null;
      }
      if (at > 0) return { before: take(at + 1), after: done };
      return { before: replacesFirst ? take(1) : 'Not recorded', after: done };
    },
    leaveOut: () => (pending.length === 0 ? null : { before: take(pending.length), after: 'Left out' }),
  };
}
