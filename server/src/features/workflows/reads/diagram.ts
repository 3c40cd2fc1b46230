// Draws a definition as a Mermaid flowchart. Names are escaped, so they can't add anything to the diagram.
import type { Definition, SwitchCase, Task, Then } from '../definition/model.ts';
import type { StepRow } from '../store/rows.ts';

export const mermaid = 'text/vnd.mermaid';

/** Each task's status, keyed by path. */
export type TaskStatuses = ReadonlyMap<string, StepRow['status']>;

/**
 * Example: a run that failed in `notify`.
 *
 *   flowchart TD
 *     start(["entity"])
 *     t0["load<br>entity.get"]
 *     t1{"check<br>switch"}
 *     t2["notify<br>http"]
 *     finish(["end"])
 *     start --> t0
 *     t0 --> t1
 *     t1 -->|"open"| t2
 *     t1 -->|"else"| finish
 *     t2 --> finish
 *     class t0,t1 completed
 *     class t2 failed
 */
export function drawDiagram(definition: Definition, trigger: string, statuses: TaskStatuses = new Map()): string {
  const ids = new Map(listInOrder(definition.tasks).map(({ path }, index) => [path, `t${index}`]));
  const idOf = (task: Task): string => ids.get(task.path) ?? 'finish';
  const [first] = definition.tasks;
  const lines = [
    'flowchart TD',
    `  start(["${escapeLabel(trigger)}"])`,
    ...drawTasks(definition.tasks, idOf, '  '),
    '  finish(["end"])',
    `  start --> ${first === undefined ? 'finish' : idOf(first)}`,
    ...drawEdges(definition.tasks, idOf, true),
    ...drawStatuses(ids, statuses),
  ];
  return `${lines.join('\n')}\n`;
}

/** Lists each task, followed by the tasks inside it. */
const listInOrder = (tasks: readonly Task[]): Task[] =>
  tasks.flatMap((task) => [task, ...listInner(task).flatMap(listInOrder)]);

/**
 * Commas, quotes, brackets and similar characters have a special meaning in labels, so they are written as numeric
 * entities.
 */
export function escapeLabel(text: string): string {
  const cut = [...text].length > maxLabel ? `${[...text].slice(0, maxLabel - 1).join('')}…` : text;
  return cut.replaceAll(/[^\p{L}\p{N} _.…-]/gu, (character) => `#${character.codePointAt(0)};`);
}

const maxLabel = 60;

type IdOf = (task: Task) => string;

function drawTasks(tasks: readonly Task[], idOf: IdOf, indent: string): string[] {
  return tasks.flatMap((task) => {
    const label = `"${escapeLabel(task.name)}<br>${escapeLabel(task.type === 'call' ? task.call : task.type)}"`;
    const inner = listInner(task);
    if (inner.length === 0) return [`${indent}${idOf(task)}${task.type === 'switch' ? `{${label}}` : `[${label}]`}`];
    return [
      `${indent}subgraph ${idOf(task)}[${label}]`,
      ...inner.flatMap((list) => drawTasks(list, idOf, `${indent}  `)),
      `${indent}end`,
    ];
  });
}

/** Returns a task's inner lists. */
function listInner(task: Task): (readonly Task[])[] {
  const lists = ['tasks' in task ? task.tasks : [], task.type === 'try' ? (task.catch.tasks ?? []) : []];
  return lists.filter((list) => list.length > 0);
}

function drawEdges(tasks: readonly Task[], idOf: IdOf, isOutermost: boolean): string[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  return tasks.flatMap((task, index) => {
    /** Returns undefined if the list ends here and the run continues after the containing task. */
    const target = (then: Then | undefined): string | undefined => {
      if (then === 'end') return 'finish';
      const named = typeof then === 'object' ? byName.get(then.task) : undefined;
      const next = named ?? (then === 'exit' ? undefined : tasks[index + 1]);
      return next === undefined ? (isOutermost ? 'finish' : undefined) : idOf(next);
    };
    const edge = (to: string | undefined, label?: string): string[] =>
      to === undefined ? [] : [`  ${idOf(task)} -->${label === undefined ? '' : `|"${escapeLabel(label)}"|`} ${to}`];
    const own = task.type === 'switch' ? drawCases(task.cases, target, task.then, edge) : edge(target(task.then));
    return [...own, ...listInner(task).flatMap((list) => drawEdges(list, idOf, false)), ...drawCatch(task, idOf)];
  });
}

function drawCases(
  cases: readonly SwitchCase[],
  target: (then: Then | undefined) => string | undefined,
  otherwise: Then | undefined,
  edge: (to: string | undefined, label: string) => string[],
): string[] {
  const always = cases.findIndex(({ when }) => when === undefined);
  const reachable = always === -1 ? cases : cases.slice(0, always + 1);
  const edges = reachable.flatMap(({ name, then }) => edge(target(then), name));
  return always === -1 ? [...edges, ...edge(target(otherwise), 'no case')] : edges;
}

/** Draws an edge to the tasks that run if a `try` fails. */
function drawCatch(task: Task, idOf: IdOf): string[] {
  const [tried] = task.type === 'try' ? task.tasks : [];
  const [caught] = task.type === 'try' ? (task.catch.tasks ?? []) : [];
  return tried && caught ? [`  ${idOf(tried)} -.->|"catch"| ${idOf(caught)}`] : [];
}

const styles: Readonly<Record<StepRow['status'], string>> = {
  completed: 'fill:#d3f9d8,stroke:#2b8a3e,color:#1b1b1b',
  failed: 'fill:#ffe3e3,stroke:#c92a2a,color:#1b1b1b,stroke-width:3px',
  running: 'fill:#d0ebff,stroke:#1864ab,color:#1b1b1b',
  skipped: 'fill:#f1f3f5,stroke:#868e96,color:#1b1b1b,stroke-dasharray:4',
  cancelled: 'fill:#fff3bf,stroke:#e67700,color:#1b1b1b',
};

function drawStatuses(ids: ReadonlyMap<string, string>, statuses: TaskStatuses): string[] {
  const marked = [...statuses].flatMap(([path, status]) => {
    const id = ids.get(path);
    return id === undefined ? [] : [{ id, status }];
  });
  return [...Map.groupBy(marked, ({ status }) => status)].flatMap(([status, tasks]) => [
    `  classDef ${status} ${styles[status]}`,
    `  class ${tasks.map(({ id }) => id).join(',')} ${status}`,
  ]);
}
