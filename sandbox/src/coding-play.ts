// The structure of a coding session's recorded play: steps, each with a reply that may depend on tool results.
import type { ModelReply } from './chat.ts';

export interface CodingPlay {
  /** Matched against the user's request. */
  readonly pattern: RegExp;
  /** The steps in order. The last step is the final reply, which is repeated for later requests. */
  readonly steps: readonly ((seen: Seen) => ModelReply)[];
}

/** The current task's tool results and answers so far. */
export interface Seen {
  /** The results of the last reply's calls. */
  readonly last: readonly string[];
  readonly results: readonly string[];
}
