// Runs `npm run advisories` against the sandbox's database of advisories.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type OsvRecord, startAdvisories } from '../../../sandbox/src/advisories/server.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'advisories-'));
const sandbox = await startAdvisories({ records: [] });
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  sandbox.clear();
  sandbox.setFaults();
});

const lockFile = join(folder, 'package-lock.json');
await writeFile(
  lockFile,
  JSON.stringify({
    lockfileVersion: 3,
    packages: {
      '': { name: 'shop', version: '1.2.0' },
      server: { name: 'left', version: '1.2.0' },
      'node_modules/server': { resolved: 'server', link: true },
      'node_modules/left': { version: '1.2.0' },
      'node_modules/@scope/right/node_modules/left': { version: '1.6.0' },
      'node_modules/renamed': { name: '@scope/right', version: '1.2.0' },
    },
  }),
);

const record = (id: string, name: string, more: Partial<OsvRecord> = {}): OsvRecord => ({
  id,
  modified: '2026-01-01T00:00:00Z',
  aliases: [`CVE-${id}`],
  summary: `Fault ${id}`,
  affected: [
    {
      package: { name, ecosystem: 'npm' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '1.0.0' }, { fixed: '1.5.0' }] }],
    },
  ],
  database_specific: { severity: 'HIGH' },
  ...more,
});

const run = (file = lockFile, url = sandbox.url) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { ...process.env, ADVISORIES_URL: url };
    execFile(process.execPath, ['tools/advisories.ts', file], { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

describe('npm run advisories', () => {
  it('lists the known vulnerabilities of each installed version, and fails', async () => {
    sandbox.add(record('A-1', 'left'), record('B-1', '@scope/right'), record('C-1', 'another'));
    const got = await run();
    expect(got.stdout.split('\n').sort()).toEqual([
      '',
      '@scope/right@1.2.0: B-1, CVE-B-1 (HIGH): Fault B-1',
      'left@1.2.0: A-1, CVE-A-1 (HIGH): Fault A-1',
    ]);
    expect(got).toMatchObject({ code: 1, stderr: expect.stringContaining('3 packages, 2 advisories') });
  });

  it('succeeds if there is none, and if an advisory was withdrawn', async () => {
    sandbox.add(record('A-1', 'left', { withdrawn: '2026-02-01T00:00:00Z' }));
    expect(await run()).toMatchObject({ code: 0, stdout: '' });
  });

  it('fails with 2 if it does not know: no answer, no address, no packages', async () => {
    sandbox.setFaults({ call: 'querybatch', fault: 'error_before' });
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('did not answer (status_500)') });
    expect(await run(lockFile, '')).toMatchObject({ code: 2, stderr: expect.stringContaining('set ADVISORIES_URL') });
    const empty = join(folder, 'empty.json');
    await writeFile(empty, JSON.stringify({ packages: {} }));
    expect(await run(empty)).toMatchObject({ code: 2 });
  });

  it("reads Plinth's own lock file", async () => {
    const got = await run('package-lock.json');
    expect(got).toMatchObject({ code: 0, stdout: '' });
    expect(Number(/^(\d+) packages/.exec(got.stderr)?.[1])).toBeGreaterThan(300);
  });
});
