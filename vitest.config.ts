// Owns how the tests run: which files, in how many processes, on a template database that is migrated once.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { everyChange, findSuite } from './server/test/check/suites.ts';

// Compiled code is kept between processes: every test process and every `plinth` process that a test starts loads it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('.cache/compiled', import.meta.url));

// Random cases are the same in each run of a commit, so that a failure can be repeated. With all cases, they are new in each run.
process.env.TEST_SEED ??= process.env.ALL_CASES === '1' ? String(randomInt(2 ** 31)) : readSeedOfCommit();
console.log(`Random cases are drawn with TEST_SEED=${process.env.TEST_SEED}`);

function readSeedOfCommit(): string {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return String(Number.parseInt(stdout?.slice(0, 7) || '1', 16));
}

// Each of these has a process of its own, because it changes what a process has only once: its environment, its signals.
const ownProcess = ['server/src/kit/outbound/outbound.test.ts', 'server/test/background/**/*.test.ts'];

// These hardly wait: two at a time keep two cores busy. Some of them fail if something takes too much processor time, and a
// thread that shares its core with others needs more of it for the same work.
const computes = [
  'server/src/{core,kit}/**/*.test.ts',
  'server/src/features/{entities,security,workflows/definition}/**/*.test.ts',
  'server/src/features/workflows/runs/mask.test.ts',
  'server/test/*.test.ts',
  'server/test/derived/*.test.ts',
];

/** Tests of whole installations first: they take longest, and one that starts last would run alone at the end. */
class InstallationsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const rank = ({ project, moduleId }: TestSpecification) =>
      2 * projects.indexOf(project) + (moduleId.includes('/test/e2e/') ? 0 : 1);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const selected = process.env.TEST_SUITES?.split(',');
const files = globSync(['server/**/*.test.ts', 'sandbox/**/*.test.ts'], { exclude: ['**/node_modules'] }).filter(
  (file) => selected?.includes(findSuite(file)?.name ?? everyChange) ?? true,
);
const isOneOf = (globs: readonly string[]) => (file: string) => globs.some((glob) => matchesGlob(file, glob));
const project = Object.groupBy(files, (file) =>
  isOneOf(ownProcess)(file) ? 'ownProcess' : isOneOf(computes)(file) ? 'computes' : 'waits',
);

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/template.ts'],
    setupFiles: ['server/test/check/setup.ts'],
    reporters: ['default', './server/test/check/results.ts'],
    pool: 'forks',
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // The test files of one process share the modules of the product: importing them takes longer than most files.
    isolate: false,
    testTimeout: 60_000, // a busy machine
    hookTimeout: 60_000,
    // A busy machine must not fail a test that waits for something.
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: InstallationsFirst },
    maxWorkers: 5,
    projects: [
      { extends: true, test: { name: 'waits', include: project.waits ?? [] } },
      { extends: true, test: { name: 'own process', include: project.ownProcess ?? [], isolate: true } },
      {
        extends: true,
        test: {
          name: 'computes',
          include: project.computes ?? [],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
