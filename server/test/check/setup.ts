// Owns what happens before each test file: random cases get their seed, and the processor time of the file is measured.
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { cpuMsWithChildren } from '../../../bench/lib/cpu.ts';
import { seed } from '../support/cases.ts';

declare module 'vitest' {
  interface TaskMeta {
    cpuMs?: number;
  }
}

fc.configureGlobal({ seed });

/** Of this process and of those of its children that have ended. */
const readCpuMs = () => cpuMsWithChildren(process.pid, []);
const cpuMsBefore = readCpuMs();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of the fixtures that a hook needs from the pattern
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = readCpuMs() - cpuMsBefore;
});
