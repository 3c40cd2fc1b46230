// The definition of a scenario: a workflow, the input that starts a run, and the expected result, which is
// computed from the definition and the receiver's responses without querying the product.
import type { Random } from '../../harness/random.ts';
import type { Answer } from './receiver.ts';

/** The relevant fields of a step in `getRun`'s response. */
export interface ExpectedStep {
  readonly name: string;
  readonly status: 'completed' | 'failed';
  readonly attempt: number;
}

/** A call that a run makes, with the responses to its attempts in order. */
export interface ExpectedCall {
  readonly call: string;
  readonly answers: readonly Answer[];
}

export interface Expected {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly error_message?: string;
  /** For a cancelled run, the most steps that it may have completed. */
  readonly steps: readonly ExpectedStep[];
  readonly calls: readonly ExpectedCall[];
  /** Records that must exist exactly once, by entity. Each is identified by its text (`recordKey`). */
  readonly records: Readonly<Record<string, readonly string[]>>;
  /** The number of runs that it causes in other workflows, by workflow name. */
  readonly causes: Readonly<Record<string, number>>;
  /** The call `to` must arrive at least this many milliseconds after the response to `from`. */
  readonly wait?: { readonly from: string; readonly to: string; readonly ms: number };
}

/** How a run is started: with `runWorkflow`, by creating a record, or by calling the workflow's hook. */
export type StartedBy = 'run' | 'record' | 'hook';

export interface Plan {
  readonly token: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Undefined if no run may start. */
  readonly expected: Expected | undefined;
  /** The delay after which the run is cancelled. */
  readonly cancelAfterMs?: number;
}

export interface Scenario {
  readonly name: string;
  readonly startedBy: StartedBy;
  readonly definition: object;
  readonly trigger: object;
  /** For `record`, the entity whose record starts a run. */
  readonly entity?: string;
  draw(token: string, random: Random): Plan;
}

export const completed = (name: string, attempt = 1): ExpectedStep => ({ name, status: 'completed', attempt });
export const failed = (name: string, attempt = 1): ExpectedStep => ({ name, status: 'failed', attempt });

export const nothingElse = { calls: [], records: {}, causes: {} } as const;

export const manual = { config: { trigger_type: 'manual' } };

/**
 * Builds a definition with these tasks. A task before them puts the run's input into the context, whatever the trigger.
 */
export const define = (name: string, ...tasks: object[]): object => ({
  document: { dsl: '1.0.0', namespace: 'drill', name, version: '1.0.0' },
  do: [{ begin: { set: '${ .body // .data // . }', export: { as: '${ . }' } } }, ...tasks],
});

/** Returns a record's text: `token n`, or only the token. */
export const recordKey = ({ token, n }: { readonly token: string; readonly n?: number | null }): string =>
  n === undefined || n === null ? token : `${token} ${n}`;

export const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
