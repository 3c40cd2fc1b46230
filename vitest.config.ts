// Owns how the tests run: two processes at once, on a template database that is migrated once.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Compiled code is kept between processes: every test process and every `plinth` process that a test starts loads it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('.cache/compiled', import.meta.url));

// These change what a process can only have once (the workflow engine, the environment), so each has its own process.
const ownProcess = [
  'server/src/kit/background/**/*.test.ts',
  'server/src/kit/outbound/outbound.test.ts',
  'server/test/background/**/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/template.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A busy machine must not fail a test that waits for something.
    expect: { poll: { timeout: 15_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared process',
          include: ['server/**/*.test.ts', 'sandbox/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...ownProcess],
          // The test files of one process share the modules of the product: importing them takes longer than most files.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'own process', include: ownProcess } },
    ],
  },
});
