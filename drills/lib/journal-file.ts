// Owns journals of drills on disk: one JSON object per line. A line is written before anything is done because of it.
import { openSync, readFileSync, writeSync } from 'node:fs';

export function openJournal<Line>(file: string): (line: Line) => void {
  const journal = openSync(file, 'a');
  return (line) => void writeSync(journal, `${JSON.stringify(line)}\n`);
}

/** The lines that are complete. */
export const readJournal = <Line>(file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
