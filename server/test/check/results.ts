// A test run's results: the failed tests, which the next steps need, and the slowest tests, which are printed.
// Vitest loads this file as a reporter.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { root } from './root.ts';
import { everyChange, findSuite } from './suites.ts';

const resultsFile = join(root, '.cache/tests.json');

export interface Results {
  readonly passed: number;
  readonly failed: number;
  /** Paths relative to the repository root. */
  readonly failedFiles: readonly string[];
  /** Whether something other than a test failed, such as an import, a hook or an unhandled rejection. */
  readonly hasOtherErrors: boolean;
}

/** Reports an error and no tests if the test run did not finish. */
export function readResults(): Results {
  try {
    return JSON.parse(readFileSync(resultsFile, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, failedFiles: [], hasOtherErrors: true };
  }
}

export const clearResults = (): void => rmSync(resultsFile, { force: true });

/** Counts the failed tests as passed, because they passed on the second attempt. */
export function countAsPassed(): void {
  const { passed, failed } = readResults();
  save({ passed: passed + failed, failed: 0, failedFiles: [], hasOtherErrors: false });
}

function save(results: Results): void {
  mkdirSync(dirname(resultsFile), { recursive: true });
  writeFileSync(resultsFile, JSON.stringify(results));
}

export default class ResultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    if (process.env.TEST_RUN === 'repeated') return;
    const count = (state: 'passed' | 'failed') =>
      modules.reduce((sum, { children }) => sum + [...children.allTests(state)].length, 0);
    const groups = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    save({
      passed: count('passed'),
      failed: count('failed'),
      failedFiles: modules.filter((module) => !module.ok()).map(({ relativeModuleId }) => relativeModuleId),
      hasOtherErrors: errors.length > 0 || groups.some((group) => group.errors().length > 0),
    });
    if (modules.length > 20) printTimes(modules);
  }
}

const longestShown = 15;

interface Times {
  readonly tests: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

function printTimes(modules: readonly TestModule[]): void {
  const files = modules.map((module) => {
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const times: Times = {
      tests: [...module.children.allTests()].length,
      seconds: (duration + collectDuration + setupDuration) / 1000,
      cpuSeconds: (module.meta().cpuMs ?? 0) / 1000,
    };
    return { ...times, file: module.relativeModuleId, suite: findSuite(module.relativeModuleId)?.name ?? everyChange };
  });
  const longest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, longestShown);
  console.log('\n   tests  seconds  of CPU');
  for (const [suite, of] of Map.groupBy(files, ({ suite }) => suite))
    printRow(`${suite} (${of.length} files)`, add(of));
  printRow(`all (${files.length} files)`, add(files));
  console.log('The longest files:');
  for (const { file, ...times } of longest) printRow(file, times);
}

const add = (all: readonly Times[]): Times =>
  all.reduce((sum, { tests, seconds, cpuSeconds }) => ({
    tests: sum.tests + tests,
    seconds: sum.seconds + seconds,
    cpuSeconds: sum.cpuSeconds + cpuSeconds,
  }));

const printRow = (name: string, { tests, seconds, cpuSeconds }: Times): void =>
  console.log(
    `${String(tests).padStart(8)}${seconds.toFixed(1).padStart(9)}${cpuSeconds.toFixed(1).padStart(8)}  ${name}`,
  );
