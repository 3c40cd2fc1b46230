// Tests the runtime client in a real browser, on a published app's pages: data, sign-in, links, renewal and errors.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { startBrowser } from './browser.ts';
import { startInstallation } from './installation.ts';

const { url, manage, publish, linkTo, addUser } = await startInstallation();
const { visit } = await startBrowser();
const password = 'a long enough password';

const app = await publish(new Map([['public/index.html', '<!doctype html><title>Shop</title><h1>Shop</h1>']]));
const settings = `/api/apps/${app.id}/auth/settings`;
const onlyTheOwner = { created_by_id: '{{user.id}}' };
await manage('PATCH', settings, { sign_up: 'open' });
await manage('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  name: 'Task',
  properties: { title: { type: 'string', maxLength: 20 }, done: { type: 'boolean', default: false } },
  required: ['title'],
  rls: { read: onlyTheOwner, write: onlyTheOwner },
});

/** Runs a program in the page, with the client's exports in scope. Returns its result. */
const run = <Result = unknown>(page: Page, program: string): Promise<Result> =>
  page.evaluate<Result>(`(async () => {
    const { analytics, app, auth, entities, PlinthError } = await import('/_plinth/client.js');
    const problemOf = (promise) => promise.then(
      () => 'no problem',
      (error) => ({ isPlinthError: error instanceof PlinthError, ...error, message: error.message }),
    );
    ${program}
  })()`);

const signIn = (page: Page, email: string) =>
  run(page, `return (await auth.signIn(${JSON.stringify({ email, password })})).email`);

describe('the client', () => {
  it('knows its app, the API and the ways to sign in', async () => {
    const methods = { password: true, link: true };
    await visit(app.url, async (page) => {
      const mail_inbox = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\//); // of the stand-in
      expect(await run(page, 'return app')).toEqual({
        id: app.id,
        api: url,
        sign_up: 'open',
        methods,
        mail: true,
        mail_inbox,
      });
    });
  });

  it('creates, reads, lists, changes, counts and deletes records', async () => {
    await addUser(app, 'data@customers.example', password);
    await visit(app.url, async (page) => {
      await signIn(page, 'data@customers.example');
      const task = await run<Record<string, unknown>>(page, "return entities.Task.create({ title: 'Buy tea' })");
      expect(task).toMatchObject({ title: 'Buy tea', done: false, created_by: 'data@customers.example' });
      const id = JSON.stringify(task.id);
      expect(await run(page, `return entities.Task.get(${id})`)).toEqual(task);
      expect(await run(page, `return entities.Task.update(${id}, { done: true })`)).toMatchObject({ done: true });
      const listed = await run<{ items: object[]; has_more: boolean }[]>(
        page,
        `await entities.Task.create({ title: 'Drink tea' });
        const first = await entities.Task.list({ sort: 'title', fields: ['title'], limit: 1 });
        const second = await entities.Task.list({ cursor: first.next_cursor });
        const open = await entities.Task.list({ filter: { done: false }, sort: '-created_date' });
        return [first, second, open]`,
      );
      expect(listed.map(({ items }) => items.map((item) => (item as { title: string }).title))).toEqual([
        ['Buy tea'],
        ['Drink tea'],
        ['Drink tea'],
      ]);
      expect(listed.map(({ has_more }) => has_more)).toEqual([true, false, false]);
      expect(Object.keys(listed[0]?.items[0] ?? {}).sort()).toEqual(['id', 'title']);
      expect(
        await run(page, 'return [await entities.Task.count(), await entities.Task.count({ done: true })]'),
      ).toEqual([2, 1]);
      expect(await run(page, `return entities.Task.delete(${id})`)).toBeUndefined();
      expect(await run(page, 'return entities.Task.count()')).toBe(1);
    });
  });

  it('tracks events of whoever is signed in, without the secrets of an address', async () => {
    await addUser(app, 'events@customers.example', password);
    let userId: unknown;
    await visit(app.url, async (page) => {
      await signIn(page, 'events@customers.example');
      userId = await run(page, 'return auth.user.id');
      const countLive = async () => (await manage('GET', `/api/apps/${app.id}/analytics/stats/users`)).live_users;
      await expect.poll(countLive, { timeout: 40_000 }).toBeGreaterThan(0); // the next heartbeat comes after 60 s
      await page.goto(`${app.url}?token=1#secret`);
      const sent: string[] = [];
      await page.route('**/analytics/track/batch', async (route) => {
        const body = route.request().postData() ?? '';
        if (!body.includes('order_placed')) return route.continue();
        sent.push(JSON.parse(body).events[0].event_id);
        if (sent.length > 1) return route.continue();
        await route.fetch(); // the event is stored, but the response is lost
        return route.abort();
      });
      expect(await run(page, "return analytics.track('order_placed', { total: 12.5, paid: true })")).toBeUndefined();
      expect(await run(page, "return problemOf(analytics.track('x', { list: [1] }))")).toMatchObject({
        isPlinthError: true,
        code: 'bad_property',
      });
      expect(sent).toEqual([sent[0], sent[0]]);
    });
    const query = { event_name: 'order_placed' };
    const { items } = await manage('POST', `/api/apps/${app.id}/analytics/events/query`, query);
    const { origin, pathname } = new URL(app.url);
    expect(items).toMatchObject([
      { user_id: userId, properties: { total: 12.5, paid: true }, page_url: origin + pathname },
    ]);
  });

  it('reports every failure as a PlinthError', async () => {
    await addUser(app, 'errors@customers.example', password);
    await visit(app.url, async (page) => {
      expect(await run(page, 'return problemOf(entities.Task.list())')).toMatchObject({
        isPlinthError: true,
        status: 401,
        code: 'credentials_missing',
      });
      const wrong = `problemOf(auth.signIn({ email: 'errors@customers.example', password: 'wrong password' }))`;
      expect(await run(page, `return ${wrong}`)).toMatchObject({
        status: 401,
        code: 'sign_in_failed',
        message: 'The e-mail address or password is wrong. Check both, or request a link by e-mail.',
      });
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await signIn(page, 'errors@customers.example');
      expect(await run(page, "return problemOf(entities.Task.create({ title: 'x'.repeat(21), done: 1 }))")).toEqual({
        isPlinthError: true,
        name: 'PlinthError',
        status: 422,
        code: 'validation',
        message: 'Title must have at most 20 characters. Done must be true or false.',
        details: [
          { loc: ['body', 'title'], msg: 'must have at most 20 characters', type: 'string_too_long' },
          { loc: ['body', 'done'], msg: 'must be true or false', type: 'bool_type' },
        ],
      });
      expect(await run(page, "return problemOf(entities.Nothing.get('x'))")).toMatchObject({
        status: 404,
        code: 'entity_not_found',
        details: { request_id: expect.any(String) },
      });
      await page.route('**/entities/**', (route) => route.abort());
      expect(await run(page, 'return problemOf(entities.Task.list())')).toMatchObject({
        isPlinthError: true,
        status: 0,
        code: 'unreachable',
      });
    });
  });

  it('stays signed in when the page is loaded again, and tells all tabs when somebody signs out', async () => {
    await addUser(app, 'tabs@customers.example', password, 'Tab');
    await visit(app.url, async (page) => {
      expect(await run(page, 'return [auth.user, await auth.me()]')).toEqual([null, null]);
      await signIn(page, 'tabs@customers.example');
      await page.reload();
      expect(await run(page, 'return auth.user')).toMatchObject({ email: 'tabs@customers.example', full_name: 'Tab' });
      expect(await run(page, 'return auth.me()')).toMatchObject({ has_password: true, role: 'user' });
      const other = await page.context().newPage();
      await other.goto(app.url);
      await run(other, 'window.seen = []; window.end = auth.onChange((user) => window.seen.push(user?.email ?? null))');
      await run(page, 'return auth.signOut()');
      await other.waitForFunction('window.seen.length === 2');
      expect(await other.evaluate('window.seen')).toEqual(['tabs@customers.example', null]);
      expect(await run(page, 'return [auth.user, await auth.me()]')).toEqual([null, null]);
      await run(other, 'window.end()');
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await signIn(page, 'tabs@customers.example');
      expect(await other.evaluate('window.seen.length')).toBe(2);
    });
  });

  it('ends a token on the server when its user signs out', async () => {
    await addUser(app, 'out@customers.example', password);
    await visit(app.url, async (page) => {
      await signIn(page, 'out@customers.example');
      const { token } = await page.evaluate<{ token: string }>(`JSON.parse(localStorage.getItem('plinth ${app.id}'))`);
      await run(page, 'return auth.signOut()');
      expect(await page.evaluate(`localStorage.length`)).toBe(0);
      const got = await fetch(`${url}/api/apps/${app.id}/auth/me`, { headers: { authorization: `Bearer ${token}` } });
      expect(got.status).toBe(401);
    });
  });

  it('signs up, and signs in with the link of the mail, which it removes from the address', async () => {
    const email = 'new@customers.example';
    await visit(app.url, async (page) => {
      await run(page, `return auth.signUp(${JSON.stringify({ email, password, full_name: 'Nora' })})`);
      const link = await linkTo(email);
      expect(link.startsWith(`${app.url}#plinth_link=`)).toBe(true);
      await page.goto(`${app.url}?from=mail#${link.split('#')[1]}`);
      expect(await run(page, 'return auth.hasLink()')).toBe(true);
      expect(page.url()).toBe(`${app.url}?from=mail`);
      expect(await run(page, 'return auth.useLink()')).toMatchObject({ email, full_name: 'Nora', has_password: true });
      expect(await run(page, 'return [auth.hasLink(), await auth.useLink(), auth.user.email]')).toEqual([
        false,
        null,
        email,
      ]);
      await page.goto(link);
      expect(await run(page, 'return problemOf(auth.useLink())')).toMatchObject({ status: 410, code: 'link_expired' });
      expect(await run(page, 'return auth.hasLink()')).toBe(false);
    });
  });

  it('sets a password with a link, and keeps the link until one is accepted', async () => {
    const email = 'forgot@customers.example';
    await addUser(app, email, password);
    await manage('PATCH', settings, { methods: { link: false } });
    await visit(app.url, async (page) => {
      await run(page, `return auth.requestLink({ email: '${email}' })`);
      await page.goto(await linkTo(email, 2));
      expect(await run(page, 'return problemOf(auth.useLink())')).toMatchObject({ status: 422, code: 'validation' });
      expect(await run(page, "return problemOf(auth.useLink({ password: 'short' }))")).toMatchObject({
        code: 'validation',
      });
      expect(await run(page, "return auth.useLink({ password: 'another long password' })")).toMatchObject({ email });
    });
    await manage('PATCH', settings, { methods: { link: true } });
  });

  it('renews the token when half of its time is over, and stays signed in however many tabs ask', async () => {
    await addUser(app, 'renew@customers.example', password);
    await visit(app.url, async (page) => {
      await signIn(page, 'renew@customers.example');
      const other = await page.context().newPage();
      await other.goto(app.url);
      await run(other, 'return auth.user');
      const stored = () =>
        page.evaluate<{ token: string; renew_at: number; expires_at: string }>(
          `JSON.parse(localStorage.getItem('plinth ${app.id}'))`,
        );
      const first = await stored();
      const dayMs = 24 * 60 * 60 * 1000;
      expect(Math.round((Date.parse(first.expires_at) - Date.now()) / dayMs)).toBe(1);
      expect(Math.abs(first.renew_at - Date.now() - dayMs / 2)).toBeLessThan(60_000);
      let renewals = 0;
      page.context().on('request', (request) => {
        if (request.url().endsWith('/auth/renew') && request.method() === 'POST') renewals += 1;
      });
      // Both tabs consider a renewal due, as on the next morning. They share the storage, and the first tab may renew
      // the token while it loads.
      await page.evaluate(`{
        const due = { ...JSON.parse(localStorage.getItem('plinth ${app.id}')), renew_at: 0 };
        localStorage.setItem('plinth ${app.id}', JSON.stringify(due));
      }`);
      await Promise.all([page.reload(), other.reload()]);
      const counts = await Promise.all(
        [page, other].map((tab) => run(tab, 'return Promise.all([1, 2, 3].map(() => entities.Task.count()))')),
      );
      expect(counts).toEqual([
        [0, 0, 0],
        [0, 0, 0],
      ]);
      // Each tab renews at most once. A tab may not yet see a token that the other tab has stored. The old token stays
      // valid for a minute.
      expect([1, 2]).toContain(renewals);
      expect((await stored()).token).not.toBe(first.token);
    });
  });

  it('notices that its token has ended, and says so to the page', async () => {
    await addUser(app, 'gone@customers.example', password);
    await visit(app.url, async (page) => {
      await signIn(page, 'gone@customers.example');
      await run(page, 'window.seen = []; auth.onChange((user) => window.seen.push(user === null))');
      const { items } = await manage('GET', `/api/apps/${app.id}/users?search=gone@`);
      await manage('DELETE', `/api/apps/${app.id}/users/${items[0].id}`);
      expect(await run(page, 'return problemOf(entities.Task.list())')).toMatchObject({ status: 401 });
      expect(await page.evaluate('window.seen')).toEqual([false, true]);
    });
  });

  it('works without storage: the user is then signed in on this page only', async () => {
    await addUser(app, 'private@customers.example', password);
    await visit(app.url, async (page) => {
      await page.addInitScript(`
        for (const name of ['getItem', 'setItem', 'removeItem'])
          Storage.prototype[name] = () => { throw new DOMException('denied', 'SecurityError'); };`);
      await page.reload();
      await signIn(page, 'private@customers.example');
      expect(await run(page, 'return entities.Task.count()')).toBe(0);
      await page.reload();
      expect(await run(page, 'return auth.user')).toBeNull();
    });
  });
});
