// Owns the limits of a run.

export interface RunLimits {
  readonly modelCalls: number;
  /** Actions and checks, replayed ones included. */
  readonly steps: number;
  readonly runMs: number;
  /** How long a check may take to hold. */
  readonly checkMs: number;
  /** Of instructions and messages. */
  readonly promptCharacters: number;
  readonly snapshotCharacters: number;
  readonly callsPerStep: number;
  /** How often the agent may end too early before the run ends as it is. */
  readonly refusedFinishes: number;
  readonly outputTokens: number;
  /** Before a model that failed is asked again. */
  readonly retryDelaysMs: readonly number[];
}

export const runLimits: RunLimits = {
  modelCalls: 40,
  steps: 80,
  runMs: 15 * 60 * 1000,
  checkMs: 5_000,
  promptCharacters: 60_000,
  snapshotCharacters: 16_000,
  callsPerStep: 4,
  refusedFinishes: 3,
  outputTokens: 2_000,
  retryDelaysMs: [500, 2_000],
};
