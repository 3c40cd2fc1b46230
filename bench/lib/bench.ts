// Owns the form of a measurement: what it reports and how it is judged.

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
