// The drills' journals on disk: one JSON object per line. Each line is written before its entry is acted on.
import { openSync, readFileSync, writeSync } from 'node:fs';

export function openJournal<Line>(file: string): (line: Line) => void {
  const journal = openSync(file, 'a');
  return (line) => void writeSync(journal, `${JSON.stringify(line)}\n`);
}

/** Reads all lines that were written completely. */
export const readJournal = <Line>(file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
