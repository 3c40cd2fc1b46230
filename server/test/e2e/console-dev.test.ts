// Tests that `npm run dev -- --console` shows the console from its sources, under the policy that it has in production,
// and changes it in the open page when a file is saved. Runs from a copy of the sources.
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { call } from '../support/client.ts';
import { copySources } from '../support/copy.ts';
import { visit as requestFrom } from '../support/published.ts';
import { cloneTemplate } from '../support/template.ts';
import { startBrowser } from './browser.ts';
import { commandLine } from './command.ts';

const folder = await mkdtemp(join(tmpdir(), 'console-dev-'));
const database = await cloneTemplate();
const port = String(await freePort());
const baseUrl = `http://127.0.0.1:${port}`;
await copySources(folder, ['console', 'client/sdk', 'package-lock.json', 'tsconfig.json']);
const settings = { DATABASE_URL: database.url, MIGRATE_DATABASE_URL: database.ownerUrl, PORT: port, BASE_URL: baseUrl };
const { child } = await commandLine(settings, folder, folder).start(
  'dev',
  /valid until the next start/,
  '--no-sandbox',
  '--console',
);
afterAll(async () => {
  child.kill('SIGTERM');
  await once(child, 'exit');
  await database.drop();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
});
const { visit } = await startBrowser();

it('shows a changed source in the open page, and keeps what was entered', async () => {
  await visit(`${baseUrl}/`, async (page) => {
    await page.getByLabel('E-mail address').fill('ann@example.com');
    const source = join(folder, 'console/src/shell/start.tsx');
    const text = await readFile(source, 'utf8');
    const changed = text.replace('Sign in</h1>', 'Come in</h1>');
    expect(changed).not.toBe(text);
    await writeFile(source, changed);
    await page.getByRole('heading', { name: 'Come in' }).waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('ann@example.com');
  });
});

it('passes everything else on to the API, with the policy of the console for its page only', async () => {
  const page = await fetch(`${baseUrl}/w/0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e`, { headers: { accept: 'text/html' } });
  const policy = page.headers.get('content-security-policy') ?? '';
  const nonce = /script-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1];
  expect(policy).toContain("style-src-attr 'none'");
  expect(await page.text()).toContain(`nonce="${nonce}"`);
  expect((await call(baseUrl, 'GET', '/api/info')).body.features.console).toBe(true);
  expect((await call(baseUrl, 'GET', '/docs', {})).text).not.toContain('/console/');
  expect((await requestFrom(baseUrl, `none.apps.localhost:${port}`, '/console/src/main.tsx')).status).toBe(404);
});
