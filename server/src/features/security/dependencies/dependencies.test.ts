// Tests packages with known vulnerabilities, using real lock files and the sandbox's advisory database.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type AdvisoryDatabase,
  noAdvisories,
  type OsvRecord,
  parseAdvisory,
  startAdvisoryDatabase,
} from '../../../../test/support/advisories.ts';
import { evaluatePackages, readLockfiles, scanDependencies } from './dependencies.ts';
import { matchAll } from './matching.ts';

let database: AdvisoryDatabase;
let sandbox: AdvisoryDatabase['sandbox'];
let advisories: AdvisoryDatabase['advisories'];
beforeAll(async () => {
  database = await startAdvisoryDatabase();
  ({ sandbox, advisories } = database);
});
afterAll(() => database.close());
afterEach(() => {
  sandbox.clear();
  sandbox.setFaults();
});

/** Each record is newer than the previous one, so the client does not use a cached record. */
let nextModified = Date.parse('2026-01-01T00:00:00Z');
const record = (id: string, name: string, fixed: string, more: object = {}): OsvRecord => ({
  id,
  modified: new Date(nextModified++).toISOString(),
  summary: `Fault in\n${name}`,
  affected: [
    { package: { name, ecosystem: 'npm' }, ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed }] }] },
  ],
  database_specific: { severity: 'HIGH' },
  ...more,
});
const lockfile = (installed: Record<string, string>, path = 'package-lock.json') => ({
  path,
  content: JSON.stringify({
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { lodash: '^4.17.0' } },
      ...Object.fromEntries(Object.entries(installed).map(([at, version]) => [`node_modules/${at}`, { version }])),
    },
  }),
});
const scan = async (...files: { path: string; content: string }[]) =>
  (await scanDependencies({ advisories }, files)).found;

describe('scanDependencies', () => {
  it('reports a package that an advisory concerns', async () => {
    sandbox.add(record('GHSA-a', 'lodash', '4.17.21', { aliases: ['CVE-1'] }));
    expect(await scan(lockfile({ lodash: '4.17.20', ms: '2.0.0' }))).toEqual({
      coverage: { value: 'ran' },
      findings: [
        {
          rule_id: 'dependencies/known-vulnerability',
          severity: 'high',
          title: 'lodash has a known vulnerability: Fault in lodash',
          description: 'The lock file installs lodash 4.17.20. Advisory GHSA-a applies to versions <4.17.21.',
          recommendation: 'Update lodash to 4.17.21 or newer.',
          identity: ['GHSA-a', 'lodash'],
          secondary: null,
          position: { path: 'package-lock.json', line: 1 },
          item: {
            package_name: 'lodash',
            installed_version: '4.17.20',
            vulnerable_range: '<4.17.21',
            fixed_version: '4.17.21',
            advisory_id: 'GHSA-a',
            aliases: ['CVE-1'],
            direct: true,
            file_path: 'package-lock.json',
          },
        },
      ],
    });
  });

  it('reports nothing for fixed versions and withdrawn advisories', async () => {
    sandbox.add(record('GHSA-a', 'lodash', '4.17.21'), record('GHSA-b', 'ms', '9.0.0', { withdrawn: '2026-01-01' }));
    expect(await scan(lockfile({ lodash: '4.17.21', ms: '2.0.0' }))).toEqual({
      coverage: { value: 'ran' },
      findings: [],
    });
  });

  it('reports several copies of a package once, and those of each lock file', async () => {
    sandbox.add(record('GHSA-a', 'ms', '2.1.0'));
    const { findings } = await scan(
      lockfile({ ms: '2.0.0', 'lodash/node_modules/ms': '1.0.0', 'x/node_modules/ms': '2.1.3' }),
      lockfile({ ms: '2.0.0' }, 'web/package-lock.json'),
    );
    expect(findings.map(({ item }) => [item.file_path, item.installed_version, item.direct])).toEqual([
      ['package-lock.json', '2.0.0, 1.0.0', false],
      ['web/package-lock.json', '2.0.0', false],
    ]);
    expect(findings[0]?.recommendation).toContain('override');
  });

  it('reports a fault that has several ids once', async () => {
    sandbox.add(
      record('CVE-2026-1', 'lodash', '4.17.21', { aliases: ['GHSA-a'] }),
      record('GHSA-a', 'lodash', '4.17.21', { aliases: ['CVE-2026-1'] }),
    );
    const { findings } = await scan(lockfile({ lodash: '4.17.20' }));
    expect(findings.map(({ item }) => item.advisory_id)).toEqual(['GHSA-a']);
  });

  it('evaluates stored packages again, without the files', async () => {
    const stored = await readLockfiles([lockfile({ lodash: '4.17.20' })]);
    expect((await evaluatePackages({ advisories }, stored)).findings).toEqual([]);
    sandbox.add(record('GHSA-new', 'lodash', '4.17.21'));
    expect((await evaluatePackages({ advisories }, JSON.parse(JSON.stringify(stored)))).findings).toHaveLength(1);
  });
});

describe('the coverage', () => {
  it('says that there is no lock file, or none that can be read', async () => {
    const skipped = { coverage: { value: 'skipped', reason: 'no_lockfile' }, findings: [] };
    expect(await scan({ path: 'package.json', content: '{"dependencies":{"lodash":"4.17.20"}}' })).toEqual(skipped);
    expect(await scan({ path: 'yarn.lock', content: '}{' })).toEqual(skipped);
  });

  it('is partial if one of two lock files can be read, or a version is not known', async () => {
    sandbox.add(record('GHSA-a', 'lodash', '4.17.21'));
    const partial = {
      coverage: { value: 'partial', reason: 'no_lockfile' },
      findings: [{ rule_id: expect.any(String) }],
    };
    expect(await scan(lockfile({ lodash: '4.17.20' }), { path: 'yarn.lock', content: '}{' })).toMatchObject(partial);
    expect(await scan(lockfile({ lodash: '4.17.20', a: 'git' }))).toMatchObject(partial);
  });

  it('says that the database did not answer', async () => {
    const file = lockfile({ lodash: '4.17.20', ms: '1.0.0' });
    sandbox.add(record('GHSA-c', 'lodash', '4.17.21'), record('GHSA-dd', 'ms', '2.0.0'));
    sandbox.setFaults({ call: 'querybatch', fault: 'drop_before' });
    expect(await scan(file)).toEqual({ coverage: { value: 'skipped', reason: 'offline' }, findings: [] });
    sandbox.setFaults({ call: 'vuln', fault: 'error_before', after: 1 });
    const { coverage, findings } = await scan(file);
    expect(coverage).toEqual({ value: 'partial', reason: 'offline' });
    expect(findings).toHaveLength(1);
  });

  it('is offline without a database', async () => {
    const { found } = await scanDependencies({ advisories: noAdvisories() }, [lockfile({ lodash: '4.17.20' })]);
    expect(found).toEqual({
      coverage: { value: 'skipped', reason: 'offline' },
      findings: [],
    });
  });

  it('is partial for more packages, files or bytes than are read', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, index) => [`p${index}`, '1.0.0']));
    expect((await readLockfiles([lockfile(many)])).missing).toBe('too_large');
    const long = { path: 'yarn.lock', content: ' '.repeat(10 * 1024 * 1024 + 1) };
    expect((await readLockfiles([long, lockfile({ a: '1.0.0' })])).missing).toBe('too_large');
    expect((await readLockfiles([lockfile({ a: '1.0.0' })], () => false)).missing).toBe('too_large');
  });
});

it('ends with hostile lock files', async () => {
  const bomb = `lockfileVersion: '9.0'\na: &a [x,x]\n${Array.from({ length: 40 }, (_, index) => `b${index}: &b${index} [*${index === 0 ? 'a' : `b${index - 1}`},*a]`).join('\n')}\npackages: *b39\n`;
  const deep = `${'{"packages":'.repeat(100_000)}1`;
  const nested = `lockfileVersion: '9.0'\npackages: ${'['.repeat(100_000)}`;
  const proto =
    '{"lockfileVersion":3,"packages":{"__proto__":{"version":"1.0.0"},"node_modules/__proto__":{"version":"1.0.0"}}}';
  const read = await readLockfiles([
    { path: 'a/pnpm-lock.yaml', content: bomb },
    { path: 'b/package-lock.json', content: deep },
    { path: 'c/pnpm-lock.yaml', content: nested },
    { path: 'd/package-lock.json', content: proto },
    { path: 'e/yarn.lock', content: `${'a'.repeat(1_000_000)}:\n` },
  ]);
  expect(read.packages.map(({ name }) => name)).toEqual(['__proto__']);
});

describe('thousands of versions', () => {
  it('of one package are read in part', async () => {
    sandbox.add(record('GHSA-a', 'ms', '9.0.0'));
    const installed = Object.fromEntries(
      Array.from({ length: 51 }, (_, at) => [`p${at}/node_modules/ms`, `1.0.${at}`]),
    );
    const { coverage, findings } = await scan(lockfile(installed));
    expect(coverage).toEqual({ value: 'partial', reason: 'too_large' });
    expect(findings[0]?.item.installed_version).toMatch(/^(?:1\.0\.\d, ){9}1\.0\.9 and 40 more$/);
  });

  it('let others have their turn', async () => {
    const events = Array.from({ length: 20 }, (_, major) => [
      { introduced: `${major}.0.0` },
      { fixed: `${major}.999.0` },
    ]).flat();
    const affected = [{ package: { name: 'ms', ecosystem: 'npm' }, ranges: [{ type: 'SEMVER', events }] }];
    const known = Array.from({ length: 30 }, (_, at) => {
      const advisory = parseAdvisory(record(`GHSA-${at}`, 'ms', '1.0.0', { affected }));
      return { reference: advisory, advisory };
    });
    const names = new Map(known.map(({ reference }) => [reference, new Set(['ms'])]));
    const packages = Array.from({ length: 1_000 }, (_, at) => ({
      name: 'ms',
      version: `${at % 20}.${at}.0`,
      direct: false,
      file_path: `${at % 20}/package-lock.json`,
    }));
    let turns = 0;
    const other = setInterval(() => {
      turns += 1;
    }, 1);
    const matched = await matchAll(known, names, packages, undefined);
    clearInterval(other);
    expect(matched.isComplete).toBe(true);
    expect(matched.findings).toHaveLength(30 * 20);
    expect(turns).toBeGreaterThan(3);
    expect((await matchAll(known, names, packages, AbortSignal.abort())).isComplete).toBe(false);
  });
});
