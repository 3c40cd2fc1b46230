// Tests that a security scan survives a killed worker: another worker restarts the scan and finishes it exactly once.
import { afterAll, expect, it } from 'vitest';
import { startAdvisories } from '../../../sandbox/src/advisories/server.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

const advisories = await startAdvisories({ records: [] });
const database = await cloneTemplate();
const { plinth, start, startApi } = commandLine({
  ...newKeys(),
  DATABASE_URL: database.url,
  ADVISORIES_URL: advisories.url,
  OUTBOUND_ALLOW: 'http://127.0.0.0/8',
});
afterAll(async () => {
  await advisories.close();
  await database.drop();
});

const lockfile = JSON.stringify({
  lockfileVersion: 3,
  packages: { '': { dependencies: { pad: '^1.0.0' } }, 'node_modules/pad': { version: '1.0.1' } },
});
const page = "document.body.innerHTML = new URLSearchParams(location.search).get('text');\n";
const startWorker = () => start('worker', /"msg":"worker started"/);

it('after kill -9 of the worker during a scan, another finishes it', async () => {
  const as = (
    await plinth('bootstrap', '--email', 'ann@example.com', '--name', 'Ann', '--workspace', 'Ours')
  ).stdout.trim();
  const [{ url }, first] = await Promise.all([startApi(), startWorker()]);
  const ask = async (method: string, path: string, body?: object) => {
    const got = await call(url, method, path, { as, ...(body && { body }) });
    expect(got.status, got.text).toBe(200);
    return got.body;
  };
  const app = `/api/apps/${(await ask('POST', '/api/apps', { name: 'Shop' })).id}`;
  const files = [
    { path: 'package-lock.json', content: lockfile },
    { path: 'src/main.ts', content: page },
  ];
  await ask('PUT', `${app}/files`, { files });
  await ask('PATCH', `${app}/security/settings`, { static_code_enabled: true });

  advisories.setFaults({ call: '*', fault: 'delay', delay_ms: 30_000 }); // the scan is blocked here
  await ask('POST', `${app}/security/scan`);
  await expect.poll(() => advisories.calls.length).toBeGreaterThan(0);
  expect((await ask('GET', `${app}/security/scan`)).status).toBe('scanning');
  first.child.kill('SIGKILL');
  advisories.setFaults();
  await startWorker();

  const read = () => ask('GET', `${app}/security/scan`);
  await expect.poll(async () => (await read()).status, { interval: 100 }).toBe('up_to_date');
  expect((await read()).result.static_code_findings).toMatchObject([{ file_path: 'src/main.ts', category: 'xss' }]);
  const { items } = await ask('GET', '/api/workspace/audit-log?type=scan.finished');
  expect(items.map((entry: { after: object }) => entry.after)).toMatchObject([{ outcome: 'finished' }]);
});
