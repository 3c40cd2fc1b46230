// Configures the test run: the test files, the number of processes, and a template database that is migrated once.
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { everyChange, findSuite } from './server/test/check/suites.ts';

// Keeps compiled code on disk, because every test process and every `plinth` process that a test starts loads it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('.cache/compiled', import.meta.url));

// Random cases are the same in every run, so a change is judged by what it changes. ALL_CASES=1 draws new ones.
process.env.TEST_SEED ??= process.env.ALL_CASES === '1' ? String(randomInt(2 ** 31)) : '1';
console.log(`Random cases are drawn with TEST_SEED=${process.env.TEST_SEED}`);

// Each of these runs in its own process, because it changes process-wide state: the environment or signal handlers.
const ownProcess = [
  'server/src/kit/outbound/outbound.test.ts',
  'server/test/background/**/*.test.ts',
  'server/test/derived/statements.test.ts', // other files define statements of their own
];

// Most of these hardly wait, so running three at a time keeps two cores busy. Some of them fail if an operation takes
// too much processor time, and a thread that shares its core with others needs more of it for the same work.
const computes = [
  'server/src/{core,kit}/**/*.test.ts',
  'server/src/features/{entities,security,workflows/definition}/**/*.test.ts',
  'server/src/features/workflows/runs/mask.test.ts',
  'server/test/*.test.ts',
  'server/test/derived/*.test.ts',
];

/** Runs tests of whole installations first. They take longest, and one that started last would run alone at the end. */
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
const files = globSync(
  ['server/**/*.test.ts', 'sandbox/**/*.test.ts', 'client/**/*.test.ts', 'console/**/*.test.ts', 'bench/**/*.test.ts'],
  {
    exclude: ['**/node_modules'],
  },
).filter((file) => selected?.includes(findSuite(file)?.name ?? everyChange) ?? true);
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
    // The test files of one process share the product's modules, because importing them takes longer than most files.
    isolate: false,
    // A busy machine must not fail a test that waits for a condition, so tests set no shorter timeouts of their own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    sequence: { sequencer: InstallationsFirst },
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: 'waits', include: project.waits ?? [] } },
      { extends: true, test: { name: 'own process', include: project.ownProcess ?? [], isolate: true } },
      {
        extends: true,
        test: {
          name: 'computes',
          include: project.computes ?? [],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
