// The list of suites that not every change must pass: each suite's tests and the folders that it covers. `npm run
// check` runs all other tests. A suite in this list runs only if a change touches it (touched.ts), or in `npm run
// check:all`.
import { matchesGlob } from 'node:path';

export interface Suite {
  readonly name: string;
  /** The product's files and folders that the suite covers. */
  readonly judges: readonly string[];
  /** Globs that match the suite's test files. */
  readonly tests: readonly string[];
}

/** The name for all tests outside these suites. */
export const everyChange = 'every change';

export const suites: readonly Suite[] = [
  {
    name: 'advertising',
    judges: ['server/src/features/ads', 'server/src/features/billing', 'server/src/gateways/ad-platform'],
    tests: [
      'server/src/features/ads/{changes/changes,launch/launch,launch/saga}.test.ts',
      'server/test/e2e/{ads-report,tracking}.test.ts',
    ],
  },
  {
    name: 'browser',
    judges: ['server/src/features/browser-tests', 'server/src/features/builder', 'server/src/gateways/browser'],
    tests: [
      'server/src/features/browser-tests/{perform,run/run,sessions}.test.ts',
      'server/test/e2e/{browser-session,browser-tests,builder-page,page-check,session-network}.test.ts',
    ],
  },
  {
    name: 'client',
    judges: [
      'client',
      'docs/generated/openapi.json',
      'docs/guides/client-for-programs.md',
      'docs/guides/plinthctl.md',
      'server/describe',
    ],
    tests: [
      'client/sdk/test/{code-samples,guide,live,operations,package,runtimes,types}.test.ts',
      'client/cli/test/*.test.ts',
      'server/test/e2e/plinthctl-guide.test.ts',
    ],
  },
  {
    name: 'coding sessions',
    judges: [
      'docs/guides/coding-sessions.md',
      'server/src/commands/demo',
      'server/src/commands/dev',
      'server/src/features/coding-sessions',
      'server/src/gateways/git-host',
      'server/src/kit/git',
    ],
    tests: [
      'server/src/features/coding-sessions/turn/{limits,protection,recovery,turn}.test.ts',
      'server/src/features/coding-sessions/shown-text.test.ts',
      'server/src/gateways/git-host/*.test.ts',
      'server/test/e2e/{coding-crashes,coding-guide,session-page}.test.ts',
    ],
  },
  {
    name: 'command sandbox',
    judges: ['server/src/features/coding-sessions/work', 'server/src/gateways/command-sandbox', 'server/src/kit/git'],
    tests: ['server/src/gateways/command-sandbox/*.test.ts', 'server/test/e2e/hostile-repositories.test.ts'],
  },
  {
    name: 'console',
    judges: [
      'client/sdk/src',
      'console',
      'docs/guides/console.md',
      'server/src/commands/dev',
      'server/src/features/apps/revisions',
      'server/src/features/builder',
      'server/src/features/console',
      'server/src/features/publishing/previews',
    ],
    tests: ['console/test/{guide,screens}.test.ts', 'server/test/e2e/console-dev.test.ts'],
  },
  {
    name: 'crashes',
    judges: [
      'server/src/features/agents',
      'server/src/features/builder',
      'server/src/features/publishing',
      'server/src/features/security',
      'server/src/features/workflows',
    ],
    tests: ['server/test/e2e/{agents,builder,publish-crashes,scan-crashes,workflow-crashes}.test.ts'],
  },
  {
    name: 'growth',
    judges: ['server/src/core', 'server/src/features', 'server/src/kit'],
    tests: ['server/test/derived/{growth,lookup-plans}.test.ts'],
  },
  {
    name: 'guides',
    judges: [
      'docs/generated/openapi.json',
      'docs/guides',
      'sandbox/src',
      'server/src/commands/demo',
      'server/src/commands/dev',
      'server/src/features/ads',
      'server/src/features/analytics',
      'server/src/features/app-users',
      'server/src/features/audit',
      'server/src/features/browser-tests',
      'server/src/features/connectors',
      'server/src/features/entities',
      'server/src/features/publishing',
      'server/src/features/security',
      'server/src/features/webhooks',
      'server/src/features/workflows',
      'server/src/openapi',
    ],
    tests: [
      'server/src/features/webhooks/receivers.test.ts',
      'server/test/e2e/{events-guide,generated-clients,guides,openapi-tasks,workflows-guide}.test.ts',
    ],
  },
  {
    name: 'install',
    judges: ['client', 'console', 'deploy', 'package-lock.json', 'server/src/commands', 'server/src/kit/http'],
    tests: ['server/test/install/*.test.ts'],
  },
  {
    name: 'operation',
    judges: [
      'deploy/systemd',
      'docs/operate',
      'server/plinth.js',
      'server/src/commands',
      'server/src/config',
      'server/src/config.ts',
      'server/src/core/backups',
      'server/src/features/workspaces',
      'server/src/kit/unprivileged.ts',
      'server/src/main.ts',
    ],
    tests: [
      'server/test/background/database-roles.test.ts',
      'server/test/e2e/{back-ups,backup,command-line,doctor,doctor-model,doctor-secrets,import,production,reload,strangers-worker}.test.ts',
    ],
  },
  {
    name: 'pages',
    judges: [
      'docs/generated/openapi.json',
      'server/src/features/accounts',
      'server/src/features/app-users',
      'server/src/features/builder',
      'server/src/features/connectors',
      'server/src/features/entities',
      'server/src/features/installation',
      'server/src/features/members',
      'server/src/features/publishing',
      'server/src/openapi',
    ],
    tests: [
      'sandbox/src/pages/pages.test.ts',
      'server/test/e2e/{building,connectors,invitation,pages,previews,published-apps,reference,runtime-client,sibling-domain}.test.ts',
    ],
  },
  {
    name: 'run failures',
    judges: ['server/src/features/workflows', 'server/src/kit/jq'],
    tests: ['server/src/features/workflows/analysis/{failure-classes,injections}.test.ts'],
  },
  {
    name: 'scans',
    judges: ['server/src/features/security'],
    tests: ['server/src/features/security/{security,code/children,code/process}.test.ts'],
  },
  {
    name: 'specification',
    judges: ['server/src/core', 'server/src/features'],
    tests: ['server/test/specification/*.test.ts'],
  },
  {
    name: 'storage',
    judges: ['server/src/gateways/storage'],
    tests: ['server/src/gateways/storage/*.test.ts'],
  },
];

/** Returns a test file's suite. Undefined if the file runs for every change. */
export const findSuite = (file: string): Suite | undefined =>
  suites.find(({ tests }) => tests.some((glob) => matchesGlob(file, glob)));
