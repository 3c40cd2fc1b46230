// Tests previews in a real browser, in a frame of the page that stands where the console does: what they show, as whom,
// and what they report.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Frame, Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startChromium } from './browser.ts';
import { startInstallation } from './installation.ts';

const { url, manage, publish } = await startInstallation();
const browser = await startChromium();

interface Preview {
  readonly id: string;
  readonly url: string;
  readonly revision: number;
}

const pageWith = (body: string) => `<!doctype html><html lang="en"><title>Shop</title><body>${body}</body></html>`;
const write = (app: { id: string }, files: Readonly<Record<string, string>>): Promise<{ revision: number }> =>
  manage('PUT', `/api/apps/${app.id}/files`, {
    files: Object.entries(files).map(([path, content]) => ({ path, content })),
  });
const create = (app: { id: string }, body: object = {}): Promise<Preview> =>
  manage('POST', `/api/apps/${app.id}/previews`, body);
const newApp = (): Promise<{ id: string }> => manage('POST', '/api/apps', { name: 'Shop' });

/** Shows a page in a frame of a page at `host`, and keeps the messages that come from it. */
async function frame(src: string, { host = url, hasStorage = true } = {}) {
  const context = await browser.newContext();
  // What browsers do that block the storage of other sites' frames.
  if (!hasStorage)
    await context.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
    })`);
  const page = await context.newPage();
  const console: string[] = [];
  page.on('console', (message) => console.push(message.text()));
  await page.goto(`${host}/api/info`);
  await page.evaluate(`{
    window.messages = [];
    addEventListener('message', ({ data, origin }) => window.messages.push({ ...data, origin }));
    const frame = document.createElement('iframe');
    frame.src = ${JSON.stringify(src)};
    document.body.append(frame);
  }`);
  await expect.poll(() => page.frames().length).toBe(2);
  const shown = page.frames()[1] as Frame;
  await shown.waitForLoadState();
  return { page, shown, console, close: () => context.close() };
}

const messagesOf = (page: Page) => page.evaluate<Record<string, unknown>[]>('window.messages');
const errorsOf = async (page: Page) =>
  (await messagesOf(page)).filter(({ type }) => type === 'plinth.preview_error').map(({ message }) => message);

describe('a preview', () => {
  it('of an app that was never published shows its pages, and says which revision they are of', async () => {
    const app = await newApp();
    const { revision } = await write(app, { 'public/index.html': pageWith('<h1>One</h1>') });
    const preview = await create(app);
    const first = await frame(preview.url);
    expect(await first.shown.textContent('h1')).toBe('One');
    const { origin } = new URL(preview.url);
    expect(await messagesOf(first.page)).toEqual([{ type: 'plinth.preview_loaded', revision, path: '/', origin }]);
    await first.close();

    const second = await write(app, { 'public/index.html': pageWith('<h1>Two</h1>') });
    const [present, earlier] = await Promise.all([frame(preview.url), frame((await create(app, { revision })).url)]);
    expect(await present.shown.textContent('h1')).toBe('Two');
    expect(await messagesOf(present.page)).toMatchObject([{ revision: second.revision }]);
    expect(await earlier.shown.textContent('h1')).toBe('One');
    expect(await messagesOf(earlier.page)).toMatchObject([{ revision }]);
    await Promise.all([present.close(), earlier.close()]);
  });

  it('is signed in as the chosen user, reads and writes live data, and is somebody else in another preview', async () => {
    const app = await newApp();
    await manage('PUT', `/api/apps/${app.id}/entity-schemas/Note`, {
      name: 'Note',
      properties: { text: { type: 'string' } },
      rls: { read: { created_by_id: '{{user.id}}' }, write: { created_by_id: '{{user.id}}' } },
    });
    await write(app, {
      'public/index.html': pageWith('<p id="who"></p><script type="module" src="/app.js"></script>'),
      'public/app.js': `import { auth, entities } from '/_plinth/client.js';
        const name = auth.user?.full_name ?? 'nobody';
        if (auth.user) await entities.Note.create({ text: name });
        const notes = auth.user ? (await entities.Note.list()).items : [];
        document.querySelector('#who').textContent = [name, ...notes.map(({ text }) => text)].join(', ');`,
    });
    const addUser = (full_name: string, email: string) =>
      manage('POST', `/api/apps/${app.id}/users`, { email, full_name });
    const users = [await addUser('Zoë', 'zoe@customers.example'), await addUser('Max', 'max@customers.example')];
    const whoIs = async (shown: Frame, text: string) => expect.poll(() => shown.textContent('#who')).toBe(text);

    for (const { id, full_name } of users) {
      const preview = await create(app, { app_user_id: id });
      const opened = await frame(preview.url);
      await whoIs(opened.shown, `${full_name}, ${full_name}`);
      expect(opened.shown.url()).toBe(`${new URL(preview.url).origin}/`);
      await opened.shown.evaluate('location.reload()');
      await whoIs(opened.shown, `${full_name}, ${full_name}, ${full_name}`);
      await opened.close();
    }
    const [{ id: firstUser } = { id: '' }] = users;
    const inMemory = await frame((await create(app, { app_user_id: firstUser })).url, { hasStorage: false });
    await whoIs(inMemory.shown, 'Zoë, Zoë, Zoë, Zoë');
    await inMemory.close();
    const nobody = await frame((await create(app)).url);
    await whoIs(nobody.shown, 'nobody');
    await nobody.close();
  });

  it('reports errors of its pages to the page around it, with their place', async () => {
    const app = await newApp();
    const { revision } = await write(app, {
      'public/index.html': pageWith(`<script src="/gone.js?token=1"></script><script src="/app.js"></script>`),
      'public/app.js': `\n  missing();`,
      'public/later.js': `Promise.reject(new Error('later'));`,
    });
    const { page, shown, close } = await frame((await create(app)).url);
    await shown.addScriptTag({ url: '/later.js' });
    await expect.poll(async () => (await errorsOf(page)).length).toBe(3);
    const [, missing, thrown, rejected] = await messagesOf(page);
    const type = 'plinth.preview_error';
    const message = 'The file /gone.js could not be loaded.';
    expect(missing).toMatchObject({ type, revision, message, source: '/gone.js', line: null });
    expect(thrown).toMatchObject({ type, revision, source: '/app.js', line: 2, column: 3 });
    expect(thrown?.message).toContain('missing is not defined');
    expect(rejected).toMatchObject({ type, message: 'later', source: '/later.js', line: 1 });
    await shown.evaluate('setTimeout(() => { for (let n = 0; n < 100; n += 1) reportError(new Error(n)); })');
    await expect.poll(async () => (await errorsOf(page)).length).toBe(50);
    await page.waitForTimeout(300);
    expect((await errorsOf(page)).length).toBe(50);
    await close();
  });

  it('is neither shown on another page nor named to one that it links to', async () => {
    const referers = new Map<string, string | undefined>();
    const other = createServer((request, response) => {
      referers.set(request.url ?? '', request.headers.referer);
      response.setHeader('content-type', 'text/html').end('<!doctype html><body>elsewhere');
    });
    const port = await freePort();
    await once(other.listen(port), 'listening');
    afterAll(() => other.close());
    const app = await newApp();
    const elsewhere = `http://localhost:${port}/`;
    await write(app, { 'public/index.html': pageWith(`<img src="${elsewhere}a"><a href="${elsewhere}">out</a>`) });
    const preview = await create(app);
    const framed = await frame(preview.url, { host: `http://localhost:${port}` });
    await expect.poll(() => framed.console.join()).toContain('frame-ancestors');
    expect(await messagesOf(framed.page)).toEqual([]);
    await framed.close();

    const context = await browser.newContext();
    const page = await context.newPage();
    referers.clear();
    await page.goto(preview.url);
    await page.click('a');
    await page.getByText('elsewhere').waitFor();
    expect([referers.has('/a'), referers.get('/a')]).toEqual([true, undefined]);
    expect([referers.has('/'), referers.get('/')]).toEqual([true, undefined]);
    await context.close();
  });

  it('of a published app is shown in a frame, whatever the app says about frames', async () => {
    const app = await publish(new Map([['public/index.html', pageWith('<h1>Live</h1>')]]));
    await manage('PATCH', `/api/apps/${app.id}/security/settings`, {
      headers: { csp: "default-src 'self'; frame-ancestors 'none'", frame_options: 'DENY' },
    });
    const { shown, page, close } = await frame((await create(app)).url);
    expect(await shown.textContent('h1')).toBe('Live');
    expect((await messagesOf(page)).length).toBe(1);
    await close();
  });
});
