// The journals' lines: the events that the sender sent and got acknowledged, the receiver's requests and
// responses, and the injected faults.

/** A line in the sender's journal: one agent's events in one transaction. */
export interface SentLine {
  readonly at: number;
  readonly state: 'began' | 'acknowledged';
  readonly by: 'http' | 'publish';
  readonly agent: string;
  readonly keys: readonly string[];
}

export type Answer = 200 | 500 | 'cut' | 'silence';

/** A line in the receiver's journal: one request. `webhook` is its path. */
export interface ReceivedLine {
  readonly at: number;
  readonly webhook: string;
  readonly delivery: string;
  readonly sequence: number;
  readonly event: string;
  readonly key: string;
  readonly sha256: string;
  readonly signed: boolean;
  readonly answer: Answer;
}

/** An injected fault and its duration. */
export interface FaultLine {
  readonly fault: string;
  readonly from: number;
  readonly to: number;
}

/** Identifies an event in the drill by its type and a unique text from the sender. */
export const keyOf = (type: string, content: string): string => `${type} ${content}`;

export const typeOf = (key: string): string => key.split(' ')[0] as string;

/** Returns the keys of a turn's events, in order: the user's message and the reply. */
export const keysOfTurn = (content: string): string[] => [
  keyOf('message.created', content),
  keyOf('message.created', replyTo(content)),
  keyOf('message.completed', replyTo(content)),
];

/** The last message sent to each agent. Once it has a sequence number, all events have one. */
export const lastMessage = 'last words';

export const replyTo = (content: string): string => `re ${content}`;
