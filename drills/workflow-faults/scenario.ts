// Owns what a scenario is: a workflow, what a person sends to start a run of it, and what must come of that, computed from the
// definition and the answers of the receiver, without asking the product.
import type { Random } from '../lib/random.ts';
import type { Answer } from './receiver.ts';

/** What makes up one step in the answer of `getRun`. */
export interface ExpectedStep {
  readonly name: string;
  readonly status: 'completed' | 'failed';
  readonly attempt: number;
}

/** A call that a run makes, with the answers to its attempts, in their order. */
export interface ExpectedCall {
  readonly call: string;
  readonly answers: readonly Answer[];
}

export interface Expected {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly error_message?: string;
  /** Of a run that was cancelled: the most that it may have done. */
  readonly steps: readonly ExpectedStep[];
  readonly calls: readonly ExpectedCall[];
  /** Records that exist exactly once, by entity: each as the text of its fields (`recordKey`). */
  readonly records: Readonly<Record<string, readonly string[]>>;
  /** How many runs of other workflows it causes, by their name. */
  readonly causes: Readonly<Record<string, number>>;
  /** This call comes no sooner than so many milliseconds after that one was answered. */
  readonly wait?: { readonly from: string; readonly to: string; readonly ms: number };
}

/** How a run is started: by `runWorkflow`, by creating a record, or by a call of the workflow's hook. */
export type StartedBy = 'run' | 'record' | 'hook';

export interface Plan {
  readonly token: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Undefined: it must start no run. */
  readonly expected: Expected | undefined;
  /** Cancel the run after this time. */
  readonly cancelAfterMs?: number;
}

export interface Scenario {
  readonly name: string;
  readonly startedBy: StartedBy;
  readonly definition: object;
  readonly trigger: object;
  /** For `record`: the entity of the record that starts a run. */
  readonly entity?: string;
  draw(token: string, random: Random): Plan;
}

export const completed = (name: string, attempt = 1): ExpectedStep => ({ name, status: 'completed', attempt });
export const failed = (name: string, attempt = 1): ExpectedStep => ({ name, status: 'failed', attempt });

export const nothingElse = { calls: [], records: {}, causes: {} } as const;

export const manual = { config: { trigger_type: 'manual' } };

/** A definition with these tasks. The first puts what the run was started with into the context, wherever it came from. */
export const define = (name: string, ...tasks: object[]): object => ({
  document: { dsl: '1.0.0', namespace: 'drill', name, version: '1.0.0' },
  do: [{ begin: { set: '${ .body // .data // . }', export: { as: '${ . }' } } }, ...tasks],
});

/** The text of a record: `token n`, or only the token. */
export const recordKey = ({ token, n }: { readonly token: string; readonly n?: number | null }): string =>
  n === undefined || n === null ? token : `${token} ${n}`;

export const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
