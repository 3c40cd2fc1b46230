// The interface that every measurement and drill implements: its options, and a report with figures and judged
// bars.

export interface Judged {
  readonly bar: string;
  readonly met: boolean;
}

export interface Report {
  readonly figures: Readonly<Record<string, unknown>>;
  readonly judged: readonly Judged[];
  readonly skipped: readonly string[];
}

export interface BenchOptions {
  readonly quick: boolean;
  /** The folder of another Plinth checkout to measure in the same blocks (against.ts). */
  readonly against?: string | undefined;
  /** The part to run, if the measurement is split into parts. */
  readonly only?: string | undefined;
  progress(line: string): void;
}

export type Bench = (options: BenchOptions) => Promise<Report>;
