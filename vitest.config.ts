// Owns how the tests run: three processes at once, on a template database that is migrated once.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Compiled code is kept between processes: every test process and every `plinth` process that a test starts loads it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('.cache/compiled', import.meta.url));

// These change what a process can only have once (the workflow engine, the environment), so each has its own process.
const ownProcess = [
  'server/src/kit/background/**/*.test.ts',
  'server/src/kit/outbound/outbound.test.ts',
  'server/test/background/**/*.test.ts',
];

// These fail if something takes too much CPU time. They run last and only two at once, because a thread that shares its
// core with others needs more of it for the same work.
const measuresCpu = [
  'server/src/features/entities/records/rule-budget.test.ts',
  'server/src/features/workflows/definition/parse.test.ts',
  'server/src/features/workflows/runs/mask.test.ts',
  'server/src/kit/http/faults.test.ts',
  'server/src/kit/jq/jq.test.ts',
  'server/test/derived/growth.test.ts',
];

// These take longest, so they start first: one that starts last would run alone at the end.
const longest = [
  'server/test/e2e/hostile-repositories.test.ts',
  'server/src/features/coding-sessions/turn.test.ts',
  'server/src/gateways/command-sandbox/escape-kit.test.ts',
  'server/test/e2e/command-line.test.ts',
  'server/test/e2e/browser-session.test.ts',
  'server/test/e2e/page-check.test.ts',
  'server/src/features/ads/launch/saga.test.ts',
  'server/src/features/coding-sessions/recovery.test.ts',
  'server/src/features/browser-tests/run/run.test.ts',
  'server/test/e2e/browser-tests.test.ts',
  'server/src/features/ads/campaigns/changes.test.ts',
  'server/src/features/security/security.test.ts',
  'server/src/features/security/code/process.test.ts',
  'server/src/features/browser-tests/perform.test.ts',
  'server/test/boundaries.test.ts',
  'server/test/e2e/publish-crashes.test.ts',
  'server/src/features/ads/launch/launch.test.ts',
  'server/test/derived/fuzz.test.ts',
  'server/test/e2e/pages.test.ts',
  'server/src/gateways/storage/storage.test.ts',
  'server/test/derived/guards.test.ts',
  'server/test/e2e/production.test.ts',
  'server/src/features/webhooks/receivers.test.ts',
  'server/test/e2e/session-page.test.ts',
  'server/src/features/workflows/runs/tasks/tasks.test.ts',
  'server/src/features/workspaces/import.test.ts',
  'server/test/e2e/backup.test.ts',
  'server/test/e2e/invitation.test.ts',
  'server/test/e2e/builder-page.test.ts',
  'server/test/e2e/reference.test.ts',
  'server/test/e2e/import.test.ts',
  'server/test/e2e/builder.test.ts',
  'server/test/e2e/coding-guide.test.ts',
  'server/src/features/workflows/analysis/failure-classes.test.ts',
  'server/test/e2e/coding-crashes.test.ts',
  'server/test/e2e/first-hour.test.ts',
  'server/test/derived/growth.test.ts',
  'server/src/features/entities/records/rule-budget.test.ts',
];

/** Within a project, the longest first, then as Vitest does: from large files to small ones. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((path) => moduleId.endsWith(path));
      return at < 0 ? longest.length : at;
    };
    return sorted.toSorted((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/template.ts'],
    pool: 'forks',
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 3,
    testTimeout: 60_000, // a busy machine
    hookTimeout: 60_000,
    // CI tries a test that fails once more, and prints which passed only then: a busy machine must not refuse a change.
    retry: Number(process.env.TEST_RETRIES ?? 0),
    // A busy machine must not fail a test that waits for something.
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared process',
          include: ['server/**/*.test.ts', 'sandbox/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...ownProcess, ...measuresCpu],
          // The test files of one process share the modules of the product: importing them takes longer than most files.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'own process', include: ownProcess } },
      {
        extends: true,
        test: {
          name: 'measures CPU',
          include: measuresCpu,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
