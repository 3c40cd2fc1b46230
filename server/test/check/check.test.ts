// Tests which suites a change touches, and which failed tests are rerun.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listRepeatable } from './repeat.ts';
import { root } from './root.ts';
import { suites } from './suites.ts';
import { findTouching, listTests } from './touched.ts';

describe('the list of suites', () => {
  it.each(suites)('names folders and tests of $name that exist', ({ judges, tests }) => {
    expect(judges.filter((place) => !existsSync(join(root, place)))).toEqual([]);
    expect(tests.filter((glob) => listTests({ tests: [glob] }).length === 0)).toEqual([]);
  });

  it('is explained in CONTRIBUTING.md', () => {
    const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
      .split('\n## ')
      .find((part) => part.startsWith('What is checked'));
    expect([...(page ?? '').matchAll(/^\| ([a-z ]+) \| /gm)].map(([, name]) => name)).toEqual(
      suites.map(({ name }) => name),
    );
  });

  it('has no test in two suites', () => {
    const files = suites.flatMap(listTests);
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
  });
});

describe('a changed file', () => {
  const touchedBy = (path: string) => suites.filter((suite) => findTouching(suite, [path])).map(({ name }) => name);

  it('touches the suites that judge its folder', () => {
    expect(touchedBy('server/src/features/billing/customer.ts')).toEqual(['advertising', 'growth', 'specification']);
    expect(touchedBy('server/src/features/security/code/sinks.ts')).toEqual([
      'crashes',
      'growth',
      'guides',
      'scans',
      'specification',
    ]);
  });

  it('touches the suites whose folders import its module', () => {
    expect(touchedBy('server/src/kit/jq/pool.ts')).toEqual([
      'crashes',
      'growth',
      'guides',
      'run failures',
      'specification',
    ]);
    expect(touchedBy('server/src/gateways/payments/types.ts')).toEqual([
      'advertising',
      'growth',
      'install',
      'operation',
      'specification',
    ]);
  });

  it('touches the suite that it belongs to, and those whose tests are made with it', () => {
    expect(touchedBy('server/test/e2e/backup.test.ts')).toEqual(['operation']);
    expect(touchedBy('server/test/support/launching.ts')).toEqual(['advertising', 'specification']);
  });

  it('touches the suites whose tests are made with something that imports it', () => {
    expect(touchedBy('sandbox/src/coding-conversation.ts')).toContain('coding sessions');
    expect(touchedBy('server/test/e2e/command.ts')).toContain('guides');
  });

  it('touches every suite if all of them depend on it', () => {
    for (const path of [
      'package-lock.json',
      'server/src/app.ts',
      'server/src/app/features.ts',
      'server/src/config/keys.ts',
      'server/migrations/0001_access.sql',
      'vitest.config.ts',
      '.ci/run',
    ])
      expect(touchedBy(path)).toHaveLength(suites.length);
  });

  it('touches none if no suite judges it', () => {
    expect(touchedBy('README.md')).toEqual([]);
    expect(touchedBy('server/test/e2e/starter.test.ts')).toEqual([]);
  });
});

describe('a failed test', () => {
  const agents = 'server/src/features/agents/agents.test.ts';
  const one = { passed: 9, failed: 1, failedFiles: [agents], hasOtherErrors: false };

  it('is run once more', () => {
    expect(listRepeatable(one)).toEqual([agents]);
    expect(listRepeatable({ ...one, failed: 3 })).toEqual([agents]);
  });

  it.each([
    ['more than three failed', { ...one, failed: 4 }],
    ['something else failed as well', { ...one, hasOtherErrors: true }],
    ['only something else failed', { ...one, failed: 0 }],
  ])('is final if %s', (_, results) => {
    expect(listRepeatable(results)).toEqual([]);
  });

  it.each([
    ['kit', 'server/src/kit/http/faults.test.ts'],
    ['core', 'server/src/core/auth/request/failed-lookups.test.ts'],
    ['a derived matrix', 'server/test/derived/guards.test.ts'],
    ['the sandbox', 'server/test/e2e/hostile-repositories.test.ts'],
    ['random cases', 'server/src/features/audit/audit.test.ts'],
    ['hidden data', 'server/src/features/entities/records/oracles.test.ts'],
    ['the rights of database roles', 'server/test/background/database-roles.test.ts'],
    ['signatures', 'server/src/features/webhooks/signing.test.ts'],
    ['connectors', 'server/src/gateways/oauth/oauth.test.ts'],
  ])('is final if it is one of %s', (_, file) => {
    expect(listRepeatable({ ...one, failed: 2, failedFiles: [agents, file] })).toEqual([]);
  });
});
