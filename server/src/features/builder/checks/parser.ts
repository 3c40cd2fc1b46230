// Owns parsing files in a thread of their own, because the time and memory that parsers take have no limit.
import { createParseThread } from '../../../kit/parse-thread.ts';
import type { FileCheck, FileText } from './syntax.ts';

export interface TimedCheck {
  readonly check: FileCheck;
  /** Without the time that the file waited for others. */
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
