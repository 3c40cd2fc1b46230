import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['server/**/*.test.ts', 'sandbox/**/*.test.ts'],
    globalSetup: ['server/test/support/template.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is waited for comes when it comes: a busy machine must not fail a test.
    expect: { poll: { timeout: 15_000 } },
  },
});
