// Runs before each test file. Seeds the random cases and measures the file's CPU time.
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { cpuMsWithChildren } from '../../../harness/cpu.ts';
import { seed } from '../support/cases.ts';

declare module 'vitest' {
  interface TaskMeta {
    cpuMs?: number;
  }
}

fc.configureGlobal({ seed });

/** The combined CPU time of this process and its children that have ended. */
const readCpuMs = () => cpuMsWithChildren(process.pid, []);
const cpuMsBefore = readCpuMs();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures the hook needs
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = readCpuMs() - cpuMsBefore;
});
