// A sandbox server's journal: one line of JSON for each request and action, written to disk before the response. A
// server restarted with the same file continues where it stopped.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

export interface Journal<Entry> {
  readonly entries: readonly Entry[];
  append(entry: Entry): void;
  close(): void;
}

/** Without a file, the journal is kept in memory only. */
export function openJournal<Entry>(file: string | undefined): Journal<Entry> {
  const entries: Entry[] = [];
  if (file === undefined) return { entries, append: (entry) => void entries.push(entry), close: () => {} };
  if (existsSync(file)) {
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    // A killed process may have left an incomplete line at the end.
    if (whole !== text) truncateSync(file, Buffer.byteLength(whole));
    for (const line of whole.split('\n').slice(0, -1)) entries.push(JSON.parse(line) as Entry);
  }
  const handle = openSync(file, 'a');
  return {
    entries,
    append(entry) {
      writeSync(handle, `${JSON.stringify(entry)}\n`);
      fsyncSync(handle);
      entries.push(entry);
    },
    close: () => closeSync(handle),
  };
}
