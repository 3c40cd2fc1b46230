// The allowed transitions between session states (docs/api/coding-sessions.md#states) and their causes. The
// database enforces the same transitions. The diagram in docs/generated/coding-session-states.md is generated from this
// list.

export const states = [
  'queued',
  'running',
  'opening_pull_request',
  'needs_input',
  'completed',
  'failed',
  'cancelling',
  'cancelled',
] as const;
export type State = (typeof states)[number];

export interface Transition {
  readonly from: State;
  readonly to: State;
  /** The cause of the transition. */
  readonly trigger: string;
}

const fatalFault = 'fatal fault';
const followUp = 'follow-up message';

export const transitions: readonly Transition[] = [
  { from: 'queued', to: 'running', trigger: 'sandbox and branch are ready' },
  { from: 'queued', to: 'cancelled', trigger: 'cancel' },
  { from: 'queued', to: 'failed', trigger: fatalFault },
  { from: 'running', to: 'needs_input', trigger: 'question or approval' },
  { from: 'running', to: 'opening_pull_request', trigger: 'commit pushed' },
  { from: 'running', to: 'completed', trigger: 'done without changes' },
  { from: 'running', to: 'cancelling', trigger: 'cancel' },
  { from: 'running', to: 'failed', trigger: fatalFault },
  { from: 'needs_input', to: 'running', trigger: 'answer' },
  { from: 'needs_input', to: 'cancelling', trigger: 'cancel' },
  { from: 'needs_input', to: 'failed', trigger: 'no answer for 7 days, or a fatal fault' },
  { from: 'opening_pull_request', to: 'completed', trigger: 'pull request opened or found' },
  { from: 'opening_pull_request', to: 'cancelling', trigger: 'cancel' },
  { from: 'opening_pull_request', to: 'failed', trigger: fatalFault },
  { from: 'cancelling', to: 'cancelled', trigger: 'stopped, after 20 seconds at the latest' },
  { from: 'completed', to: 'queued', trigger: followUp },
  { from: 'failed', to: 'queued', trigger: followUp },
  { from: 'cancelled', to: 'queued', trigger: followUp },
];

export const endStates = ['completed', 'failed', 'cancelled'] as const satisfies readonly State[];
export type EndState = (typeof endStates)[number];

export const isEnded = (state: State): state is EndState => (endStates as readonly State[]).includes(state);

export const mayFollow = (from: State, to: State): boolean =>
  transitions.some((transition) => transition.from === from && transition.to === to);
