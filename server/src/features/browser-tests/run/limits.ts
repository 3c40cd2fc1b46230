// A run's limits.

export interface RunLimits {
  readonly modelCalls: number;
  /** The number of actions and checks, including replayed ones. */
  readonly steps: number;
  readonly runMs: number;
  /** How long a check may take to become true. */
  readonly checkMs: number;
  /** The combined size of the instructions and messages. */
  readonly promptCharacters: number;
  readonly snapshotCharacters: number;
  readonly callsPerStep: number;
  /** How many times the agent may try to finish too early before the run ends anyway. */
  readonly refusedFinishes: number;
  readonly outputTokens: number;
  /** The delays before a failed model call is retried. */
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
