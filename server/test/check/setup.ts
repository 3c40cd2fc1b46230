// Owns what happens before each test file: random cases get their seed, and the processor time of the file is measured.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { seed } from '../support/cases.ts';

declare module 'vitest' {
  interface TaskMeta {
    cpuMs?: number;
  }
}

fc.configureGlobal({ seed });

const cpuMsBefore = readCpuMs();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of the fixtures that a hook needs from the pattern
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = readCpuMs() - cpuMsBefore;
});

/** The processor time of this process and of those of its children that have ended, in steps of 10 ms; 0 without /proc. */
function readCpuMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
  } catch {
    return 0;
  }
}
