// A complete installation for tests of published apps: an API and a worker as separate processes, a mail server,
// and app hosts under apps.localhost, which browsers resolve to this machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, vi } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { type CallOptions, call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

export interface PublishedApp {
  readonly id: string;
  /** The base URL of the app's pages. Ends with a slash. */
  readonly url: string;
}

export async function startInstallation(settings: Readonly<Record<string, string>> = {}) {
  const mail = await startMailSandbox();
  const database = await cloneTemplate();
  const folder = await mkdtemp(join(tmpdir(), 'plinth-e2e-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { plinth, start, startApi } = commandLine({
    ...newKeys(),
    DATABASE_URL: database.url,
    SMTP_URL: mail.smtpUrl,
    STORAGE_FOLDER: folder,
    PORT: String(port),
    BASE_URL: url,
    APPS_DOMAIN: 'apps.localhost',
    ...settings,
  });
  const bootstrapped = await plinth(
    'bootstrap',
    '--email',
    'owner@example.com',
    '--name',
    'Olive',
    '--workspace',
    'Ours',
  );
  const owner = bootstrapped.stdout.trim();
  const startWorker = () => start('worker', /"msg":"worker started"/);
  const [api, worker] = await Promise.all([startApi(), startWorker()]);
  afterAll(async () => {
    await mail.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Calls the API as the owner and expects success. */
  async function manage(method: string, path: string, body?: unknown) {
    const got = await call(url, method, path, { as: owner, ...(body !== undefined && { body }) });
    expect(got.status, got.text).toBe(200);
    return got.body;
  }
  const visit = (method: string, path: string, options: CallOptions) => call(url, method, path, options);

  /** Writes these files to the given app, or to a new one, and publishes it. */
  async function publish(files: ReadonlyMap<string, string>, app?: { readonly id: string }): Promise<PublishedApp> {
    const { id } = app ?? (await manage('POST', '/api/apps', { name: 'Shop' }));
    const sent = [...files].map(([path, content]) => ({ path, content }));
    if (sent.length > 0) await manage('PUT', `/api/apps/${id}/files`, { files: sent });
    await manage('POST', `/api/apps/${id}/deploy`);
    return { id, url: (await manage('GET', `/api/apps/${id}`)).published.url };
  }

  /** Returns the link from the `count`-th mail to this address. */
  async function linkTo(email: string, count = 1): Promise<string> {
    const mails = () => mail.inbox.filter(({ to }) => to.includes(email));
    await vi.waitFor(() => expect(mails().length).toBeGreaterThanOrEqual(count), { timeout: 120_000 });
    return /http\S+#plinth_link=\S+/.exec(mails()[count - 1]?.text ?? '')?.[0] ?? '';
  }

  /** Signs up a user with a password. The app must allow sign-up. */
  async function addUser(app: PublishedApp, email: string, password: string, full_name = ''): Promise<void> {
    const path = `/api/apps/${app.id}/auth`;
    const done = await visit('POST', `${path}/sign-up`, { body: { email, password, full_name } });
    expect(done.status, done.text).toBe(200);
    const link_token = (await linkTo(email)).split('=')[1];
    const used = await visit('POST', `${path}/link/use`, { body: { link_token } });
    expect(used.status, used.text).toBe(200);
  }

  return { url, owner, mail, api, worker, plinth, startApi, startWorker, manage, publish, linkTo, addUser };
}
