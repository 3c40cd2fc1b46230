// A run's state: its position in the definition, and the data that flows from task to task. The state is stored
// with every step, so any worker can continue from there. All functions are pure, and time is an argument.
//
// Example: a definition, and its state while `post` runs for the second time.
//
//   do:
//     - load:   { set: { id: 7, lines: [1, 2] } }
//     - each:   { for: { each: line, in: "${ .lines }" }, do:
//                 - notify: { try: [ { post: { call: http, … } } ], catch: { retry: { … } } } }
//     - close:  { set: { done: true } }
//
//   frames:  { path: "",                      list: "do",  index: 1 }                                  at `each`
//            { path: "/do/1/each",            list: "do",  index: 0, loop: { items: [1, 2], turn: 0 } } at `notify`
//            { path: "/do/1/each/do/0/notify", list: "try", index: 0, attempt: 2 }                     at `post`
//   data:    { id: 7, lines: [1, 2] }          the input of `post`, before its `input.from`
//
// When `post` ends, `move` sets the last frame's index to 1. That list has no task 1, so `notify` ends with its data as
// output: its frame is popped, and the frame of `each` advances. The list of `each` has also ended, so `turn` becomes 1
// and the index becomes 0 again. After the last turn `close` runs, and the run ends when the first frame's list has
// ended. state.test.ts runs this example.
import type { Definition, Json, Task, Then } from '../definition/model.ts';
import type { TaskError } from './errors.ts';

/** A task list that is being run. */
export interface Frame {
  /** The path of the task that contains the list. Empty for the definition itself. */
  readonly path: string;
  readonly list: 'do' | 'try' | 'catch';
  /** The index of the current task, which is running or about to run. */
  readonly index: number;
  /** The containing task's input. Null if it won't be needed, to avoid storing it with every step. */
  readonly input: Json;
  readonly startedAt: number;
  /** When the enclosing task's `timeout.after` expires. */
  readonly deadline?: number;
  /** The items and the current turn of a `for`. */
  readonly loop?: { readonly items: readonly Json[]; readonly turn: number };
  /** The current attempt of a `try`: 1, plus 1 for each retry. */
  readonly attempt?: number;
  /** The error that a `catch` has caught. */
  readonly error?: TaskError;
}

/** Work that has started but not ended. */
export type Pending =
  | {
      /** A waiting task. Its step has been recorded as running. */
      readonly kind: 'wait';
      readonly startedAt: number;
      readonly input: Json;
      readonly until: number;
      /** When the task's own `timeout.after` ends. */
      readonly deadline?: number;
    }
  /** A `try` that is waiting for its next attempt. */
  | { readonly kind: 'retry'; readonly until: number }
  /** A task that has changed records, and the result. Its step has been recorded as running. */
  | { readonly kind: 'changed'; readonly returned: Json };

export interface RunState {
  /** The frames, outermost first. Empty if the run has ended. */
  readonly frames: readonly Frame[];
  /** The last task's output, which is the next task's input. */
  readonly data: Json;
  /** The value of `$context`. */
  readonly context: Json;
  /** The number of recorded steps. */
  readonly steps: number;
  /** The number of transitions so far, including those that enter or leave a list and record no step. */
  readonly transitions: number;
  readonly pending?: Pending;
  /**
   * All values that the secrets have had during the run, newest last. A secret may change while the run waits, and the
   * data may still contain its earlier value.
   */
  readonly secretValues?: readonly string[];
}

export const startState = (input: Json, now: Date): RunState => ({
  frames: [{ path: '', list: 'do', index: 0, input: null, startedAt: now.getTime() }],
  data: input,
  context: {},
  steps: 0,
  transitions: 0,
});

const maxSecretCharacters = 2 * 1024 * 1024;

/** Adds the secrets' current values to the state. If all values together are too long, the oldest are dropped. */
export function rememberSecrets(state: RunState, values: Iterable<string>): RunState {
  const now = new Set(values);
  const all = [...(state.secretValues ?? []).filter((value) => !now.has(value)), ...now];
  if (all.length === 0) return state;
  let first = all.length;
  for (let length = 0; first > 0; first -= 1) {
    length += all[first - 1]?.length ?? 0;
    if (length > maxSecretCharacters) break;
  }
  return { ...state, secretValues: all.slice(first) };
}

export const topOf = ({ frames }: RunState): Frame | undefined => frames.at(-1);

/** Returns the tasks in a frame's list. */
function listTasks(definition: Definition, { path, list }: Frame): readonly Task[] {
  if (path === '') return definition.tasks;
  const task = findTask(definition, path);
  if (list === 'catch') return task.type === 'try' ? (task.catch.tasks ?? []) : [];
  return 'tasks' in task ? task.tasks : [];
}

/** Returns the task at a path. */
export function findTask(definition: Definition, path: string): Task {
  const task = definition.tasksByPath.get(path);
  if (task === undefined) throw new Error(`the definition has no task at ${path}`);
  return task;
}

/** Returns the task that is running or about to run, or undefined if the last frame's list has ended. */
export function currentTask(definition: Definition, state: RunState): Task | undefined {
  const frame = topOf(state);
  return frame && listTasks(definition, frame)[frame.index];
}

const replaceTop = (state: RunState, change: Partial<Frame>): RunState => ({
  ...state,
  frames: state.frames.map((frame, index) => (index === state.frames.length - 1 ? { ...frame, ...change } : frame)),
});

/** Starts a list. `data` is the first task's input. */
export const push = (state: RunState, frame: Frame, data: Json): RunState => ({
  ...state,
  data,
  frames: [...state.frames, frame],
});

/** Leaves the last frame's list. The frame below still points to the containing task. */
export const pop = (state: RunState): RunState => ({ ...state, frames: state.frames.slice(0, -1) });

export const withoutPending = ({ pending: _, ...state }: RunState): RunState => state;

/** Continues after a task in the last frame's list, as its `then` specifies. */
export function move(definition: Definition, state: RunState, then: Then = 'continue'): RunState {
  const frame = topOf(state);
  if (frame === undefined) throw new Error('the run has ended');
  if (then === 'end') return { ...state, frames: [] };
  if (then === 'continue') return replaceTop(state, { index: frame.index + 1 });
  const tasks = listTasks(definition, frame);
  if (then === 'exit') return replaceTop(state, { index: tasks.length });
  const index = tasks.findIndex(({ name }) => name === then.task);
  if (index < 0) throw new Error(`the list at ${frame.path} has no task ${then.task}`);
  return replaceTop(state, { index });
}

/** Whether the frame's loop has another turn after this one. */
export const hasNextTurn = ({ loop }: Frame): boolean => loop !== undefined && loop.turn + 1 < loop.items.length;

/** Starts a loop's next turn, with the last turn's output as input. */
export function nextTurn(state: RunState): RunState {
  const loop = topOf(state)?.loop;
  if (loop === undefined) throw new Error('the last frame is not a loop');
  return replaceTop(state, { index: 0, loop: { ...loop, turn: loop.turn + 1 } });
}

/** Restarts the list of a `try` with the task's original input. */
export function retry(state: RunState, until: number): RunState {
  const frame = topOf(state);
  if (frame === undefined) throw new Error('the run has ended');
  const again = replaceTop(state, { index: 0, attempt: (frame.attempt ?? 1) + 1 });
  return { ...again, data: frame.input, pending: { kind: 'retry', until } };
}

/** Starts the list of a `catch`. */
export function enterCatch(state: RunState, error: TaskError): RunState {
  const frame = topOf(state);
  if (frame === undefined) throw new Error('the run has ended');
  return { ...replaceTop(state, { list: 'catch', index: 0, error }), data: frame.input };
}

/** The innermost `try`'s current attempt. */
export const attemptOf = ({ frames }: RunState): number => frames.findLast(({ list }) => list === 'try')?.attempt ?? 1;

/** Returns the index in `frames` of the outermost task that has timed out. */
export function findExpired({ frames }: RunState, now: number): number | undefined {
  const index = frames.findIndex(({ deadline }) => deadline !== undefined && deadline <= now);
  return index < 0 ? undefined : index;
}

/** The earliest deadline among all running tasks. */
export const nextDeadline = ({ frames }: RunState): number =>
  Math.min(...frames.map(({ deadline }) => deadline ?? Number.POSITIVE_INFINITY));

/** The variables for loops and caught errors. Inner variables hide outer ones. */
export function listScopeVariables(definition: Definition, { frames }: RunState): Record<string, Json> {
  const variables: Record<string, Json> = {};
  for (const { path, list, loop, error } of frames) {
    const task = path === '' ? undefined : findTask(definition, path);
    if (task?.type === 'for' && loop !== undefined) {
      variables[task.each] = loop.items[loop.turn] ?? null;
      variables[task.at] = loop.turn;
    }
    if (task?.type === 'try' && list === 'catch' && error !== undefined) variables[task.catch.as] = { ...error };
  }
  return variables;
}
