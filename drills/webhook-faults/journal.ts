// Owns the drill's two journals: what the sender began and was acknowledged, and what the receiver received and answered.
// A line is written before anything else happens because of it.
import { openSync, readFileSync, writeSync } from 'node:fs';

/** What a sender did: events of one agent that stand or fall together. */
export interface SentLine {
  readonly at: number;
  readonly state: 'began' | 'acknowledged';
  readonly by: 'http' | 'publish';
  readonly agent: string;
  readonly keys: readonly string[];
}

export type Answer = 200 | 500 | 'cut' | 'silence';

/** A request as the receiver saw it. `webhook`: the path it came to. */
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

/** An event's name in the drill: its type, and a text that the sender gave to no other. */
export const keyOf = (type: string, content: string): string => `${type} ${content}`;

export const typeOf = (key: string): string => key.split(' ')[0] as string;

/** What a turn of the conversation tells, in this order: the person's message, and the reply. */
export const keysOfTurn = (content: string): string[] => [
  keyOf('message.created', content),
  keyOf('message.created', replyTo(content)),
  keyOf('message.completed', replyTo(content)),
];

/** Said to each agent once everything else is acknowledged: what is numbered before it is all there is. */
export const lastMessage = 'last words';

export const replyTo = (content: string): string => `re ${content}`;

export function openJournal<Line>(file: string): (line: Line) => void {
  const journal = openSync(file, 'a');
  return (line) => void writeSync(journal, `${JSON.stringify(line)}\n`);
}

export const readJournal = <Line>(file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
