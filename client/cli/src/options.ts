// The options that several commands have.

export interface AppOption {
  readonly app?: string;
}

export const appOption = ['--app <app>', 'the id or name of an app; by default that of plinth.json'] as const;
export const agentOption = ['--agent <agent>', 'the id or name of an agent, instead of an app'] as const;

/** For an option that can be repeated. */
export const collect = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
