// The allowed transitions between run statuses (docs/internals/browser-tests.md#statuses). The database enforces
// the same transitions.

export const statuses = [
  'pending',
  'running',
  'analyzing',
  'passed',
  'failed',
  'inconclusive',
  'error',
  'cancelled',
] as const;
export type Status = (typeof statuses)[number];

export const transitions: Readonly<Record<Status, readonly Status[]>> = {
  pending: ['running', 'error', 'cancelled'],
  running: ['analyzing', 'error', 'cancelled'],
  analyzing: ['passed', 'failed', 'inconclusive', 'error', 'cancelled'],
  passed: [],
  failed: [],
  inconclusive: [],
  error: [],
  cancelled: [],
};

export const isTerminal = (status: Status): boolean => transitions[status].length === 0;

/** Lists the statuses from which this status can be reached. */
export const listSources = (to: Status): Status[] => statuses.filter((from) => transitions[from].includes(to));
