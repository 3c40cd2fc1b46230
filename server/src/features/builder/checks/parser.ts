// Parses files in a separate thread, because parsers have no limit on time or memory.
import { createParseThread } from '../../../kit/parse-thread.ts';
import type { FileCheck, FileText } from './syntax.ts';

export interface TimedCheck {
  readonly check: FileCheck;
  /** Excludes the time spent waiting for other files. */
  readonly elapsedMs: number;
}

const thread = createParseThread<FileText, FileCheck>(new URL('parser-thread.ts', import.meta.url));
const reasons = { too_long: 'it takes too long to parse', too_much_memory: 'it takes too much memory to parse' };

export async function parseInThread(file: FileText): Promise<TimedCheck> {
  const parsed = await thread.parse(file);
  const check: FileCheck =
    parsed.outcome === 'parsed' ? parsed.result : { outcome: 'not_checked', reason: reasons[parsed.outcome] };
  return { check, elapsedMs: parsed.elapsedMs };
}
