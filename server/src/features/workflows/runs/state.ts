// Owns the state of a run: where it is in its definition, and the data that flows from task to task. It is stored with every
// step, so that any worker can go on after the last one. Pure; time is an argument.
//
// Example. The definition, and the state while `post` runs for the second time:
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
// output: the frame is popped and the frame of `each` moves on. Its list has ended too, so `turn` becomes 1 and index 0 again.
// After the last turn `close` follows, and the run ends when the first frame's list has ended. state.test.ts runs this example.
import type { Definition, Json, Task, Then } from '../definition/model.ts';
import type { TaskError } from './errors.ts';

/** A list of tasks that is being run. */
export interface Frame {
  /** The path of the task that contains the list; empty for the definition itself. */
  readonly path: string;
  readonly list: 'do' | 'try' | 'catch';
  /** The task of the list that runs or is next. */
  readonly index: number;
  /** The input of the containing task; null if nothing needs it later, because it is stored with every step. */
  readonly input: Json;
  readonly startedAt: number;
  /** When `timeout.after` of the containing task ends. */
  readonly deadline?: number;
  /** Of a `for`. */
  readonly loop?: { readonly items: readonly Json[]; readonly turn: number };
  /** Of a `try`: 1, and one more for each retry. */
  readonly attempt?: number;
  /** Of a `catch`: what it caught. */
  readonly error?: TaskError;
}

/** What was begun and has not ended. */
export type Pending =
  | {
      /** A task that waits. Its step has been recorded as running. */
      readonly kind: 'wait';
      readonly startedAt: number;
      readonly input: Json;
      readonly until: number;
      /** When `timeout.after` of the task itself ends. */
      readonly deadline?: number;
    }
  /** A `try` that waits before its next attempt. */
  | { readonly kind: 'retry'; readonly until: number }
  /** A task that has changed records, and returned this. Its step has been recorded as running. */
  | { readonly kind: 'changed'; readonly returned: Json };

export interface RunState {
  /** The outermost first. None: the run has ended. */
  readonly frames: readonly Frame[];
  /** The output of the last task, which is the input of the next. */
  readonly data: Json;
  /** `$context`. */
  readonly context: Json;
  /** How many steps were recorded. */
  readonly steps: number;
  /** How many tasks were entered, also those that contain others and leave no step. */
  readonly transitions: number;
  readonly pending?: Pending;
  /**
   * Every value that a secret has had while the run went on, the latest last. A secret may change while the run waits, and the
   * data may still have its earlier value.
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

/** The state with the values that the secrets have now. If all values are too long, the oldest are forgotten. */
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

/** The tasks of a frame's list. */
function listTasks(definition: Definition, { path, list }: Frame): readonly Task[] {
  if (path === '') return definition.tasks;
  const task = findTask(definition, path);
  if (list === 'catch') return task.type === 'try' ? (task.catch.tasks ?? []) : [];
  return 'tasks' in task ? task.tasks : [];
}

/** The task that contains a frame's list. */
export function findTask(definition: Definition, path: string): Task {
  const task = definition.tasksByPath.get(path);
  if (task === undefined) throw new Error(`the definition has no task at ${path}`);
  return task;
}

/** The task that runs or is next; undefined if the list of the last frame has ended. */
export function currentTask(definition: Definition, state: RunState): Task | undefined {
  const frame = topOf(state);
  return frame && listTasks(definition, frame)[frame.index];
}

const replaceTop = (state: RunState, change: Partial<Frame>): RunState => ({
  ...state,
  frames: state.frames.map((frame, index) => (index === state.frames.length - 1 ? { ...frame, ...change } : frame)),
});

/** Begins a list, with `data` as the input of its first task. */
export const push = (state: RunState, frame: Frame, data: Json): RunState => ({
  ...state,
  data,
  frames: [...state.frames, frame],
});

/** Leaves the list of the last frame. The frame below is still at the task that contains it. */
export const pop = (state: RunState): RunState => ({ ...state, frames: state.frames.slice(0, -1) });

export const withoutPending = ({ pending: _, ...state }: RunState): RunState => state;

/** Goes on after a task of the last frame's list, as its `then` says. */
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

/** Whether the loop of the last frame has another turn after this one. */
export const hasNextTurn = ({ loop }: Frame): boolean => loop !== undefined && loop.turn + 1 < loop.items.length;

/** The next turn of a loop begins with what the last one has put out. */
export function nextTurn(state: RunState): RunState {
  const loop = topOf(state)?.loop;
  if (loop === undefined) throw new Error('the last frame is not a loop');
  return replaceTop(state, { index: 0, loop: { ...loop, turn: loop.turn + 1 } });
}

/** Begins the list of a `try` again, with the input that the task had. */
export function retry(state: RunState, until: number): RunState {
  const frame = topOf(state);
  if (frame === undefined) throw new Error('the run has ended');
  const again = replaceTop(state, { index: 0, attempt: (frame.attempt ?? 1) + 1 });
  return { ...again, data: frame.input, pending: { kind: 'retry', until } };
}

/** Begins the list of a `catch`. */
export function enterCatch(state: RunState, error: TaskError): RunState {
  const frame = topOf(state);
  if (frame === undefined) throw new Error('the run has ended');
  return { ...replaceTop(state, { list: 'catch', index: 0, error }), data: frame.input };
}

/** Which attempt of the closest `try` this is. */
export const attemptOf = ({ frames }: RunState): number => frames.findLast(({ list }) => list === 'try')?.attempt ?? 1;

/** The outermost task whose time is up; its index in `frames`. */
export function findExpired({ frames }: RunState, now: number): number | undefined {
  const index = frames.findIndex(({ deadline }) => deadline !== undefined && deadline <= now);
  return index < 0 ? undefined : index;
}

/** When the first of the tasks that are being run must have ended. */
export const nextDeadline = ({ frames }: RunState): number =>
  Math.min(...frames.map(({ deadline }) => deadline ?? Number.POSITIVE_INFINITY));

/** The variables of loops and of caught errors; the inner ones hide the outer ones. */
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
