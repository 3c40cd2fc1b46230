// Owns the interface of a measurement or drill: its options, and the report with figures and judged bars.

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
  progress(line: string): void;
}

export type Bench = (options: BenchOptions) => Promise<Report>;
