// Owns the lines of the journals: what the sender sent and got acknowledged, what the receiver received and answered, and which
// faults were injected.

/** A line of the sender: events of one agent in one transaction. */
export interface SentLine {
  readonly at: number;
  readonly state: 'began' | 'acknowledged';
  readonly by: 'http' | 'publish';
  readonly agent: string;
  readonly keys: readonly string[];
}

export type Answer = 200 | 500 | 'cut' | 'silence';

/** A line of the receiver: one request. `webhook` is its path. */
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

/** A fault that was injected, and how long it lasted. */
export interface FaultLine {
  readonly fault: string;
  readonly from: number;
  readonly to: number;
}

/** Identifies an event in the drill: its type and a unique text of the sender. */
export const keyOf = (type: string, content: string): string => `${type} ${content}`;

export const typeOf = (key: string): string => key.split(' ')[0] as string;

/** The events of one turn, in order: the person's message and the reply. */
export const keysOfTurn = (content: string): string[] => [
  keyOf('message.created', content),
  keyOf('message.created', replyTo(content)),
  keyOf('message.completed', replyTo(content)),
];

/** Sent to each agent at the very end: once it is numbered, everything is. */
export const lastMessage = 'last words';

export const replyTo = (content: string): string => `re ${content}`;
