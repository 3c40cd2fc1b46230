// Tests the sandbox's git host: a pull request's page, and restarting with the same folder.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGitHost } from './server.ts';

it('shows a pull request with its diff, escaped, and continues after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-git-host-'));
  const first = await startGitHost({ folder });
  await first.addRepository({ full_name: 'acme/shop', files: { 'a.html': 'one\n' }, protected: ['main'] });
  await first.commit('acme/shop', 'work', { 'a.html': '<script>alert(1)</script>\n' });
  const call = (url: string, method = 'GET', body?: object, headers = {}) =>
    fetch(url, {
      method,
      headers: { authorization: `Bearer ${first.token}`, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  const pull = { title: '<b>Work</b>', body: 'Text <!-- unseen --> & more', head: 'work', base: 'main' };
  expect((await call(`${first.url}/repos/acme/shop/pulls`, 'POST', pull)).status).toBe(201);
  const diff = await call(`${first.url}/repos/acme/shop/pulls/1`, 'GET', undefined, {
    accept: 'application/vnd.github.diff',
  });
  expect(await diff.text()).toContain('+<script>');
  await first.close();

  const second = await startGitHost({ folder });
  const page = await (await fetch(`${second.cloneUrl}/acme/shop/pull/1`)).text();
  expect(page).toContain('&#60;b&#62;Work&#60;/b&#62;');
  expect(page).toContain('+&#60;script&#62;alert(1)&#60;/script&#62;');
  expect(page).not.toContain('unseen');
  expect(await (await fetch(second.cloneUrl)).text()).toContain('/acme/shop/pull/1');
  const faults = [{ call: 'read', fault: 'refuse', times: 1 }];
  expect((await call(`${second.cloneUrl}/sandbox/faults`, 'PUT', faults)).status).toBe(200);
  expect((await call(`${second.url}/repos/acme/shop`)).status).toBe(403);
  expect((await call(`${second.url}/repos/acme/shop`)).status).toBe(200);
  const journal = (await (await fetch(`${second.cloneUrl}/sandbox/journal`)).json()) as { call: string }[];
  expect(journal.map((entry) => entry.call)).toEqual(second.journal.map((entry) => entry.call));
  expect(second.listPullRequests('acme/shop')).toMatchObject([{ number: 1, head: 'work' }]);
  await expect((await call(`${second.url}/repos/acme/shop/branches/main`)).json()).resolves.toMatchObject({
    protected: true,
  });
  await second.close();
  await rm(folder, { recursive: true });
});

it('shows its repositories and a missing page to browsers, and escapes hostile names', async () => {
  const host = await startGitHost({ startPage: 'http://127.0.0.1:1/' });
  const open = async (path: string, accept = 'text/html') => {
    const response = await fetch(host.cloneUrl + path, { headers: { accept } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  expect((await open('/')).text).toContain('There are no repositories yet.');
  const hostile = `<img/src="x"onerror='alert(1)'>`;
  await host.addRepository({ full_name: hostile, files: { 'a.txt': 'one\n' } });
  await host.addRepository({ full_name: 'acme/shop' });
  await host.commit(hostile, 'work', { '<i>.txt': '<b>\n', 'a.txt': null });
  const path = `/${hostile.split('/').map(encodeURIComponent).join('/')}`;
  const pull = { title: 'Work', body: 'See https://a.example/ and javascript:alert(1)', head: 'work', base: 'main' };
  const created = await fetch(`${host.url}/repos${path}/pulls`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.token}` },
    body: JSON.stringify(pull),
  });
  expect(created.status).toBe(201);
  const escaped = '&#60;img/src=&#34;x&#34;onerror=&#39;alert(1)&#39;&#62;';
  const home = await open('/');
  expect(home.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  expect(home.text).toContain('<a href="http://127.0.0.1:1/">');
  expect(home.text).toContain(escaped);
  const own = await open(path);
  expect(own.text).toContain('#1 Work');
  expect(own.text).not.toContain('acme/shop');
  const page = await open(`${path}/pull/1`);
  expect(page.text).toContain('2 changed files');
  expect(page.text).toContain('<code>&#60;i&#62;.txt</code>');
  expect(page.text).toContain('<span class="add">+&#60;b&#62;</span>');
  expect(page.text).toContain('<span class="del">-one</span>');
  expect(page.text).toContain('<a href="https://a.example/" target="_blank" rel="noreferrer noopener">');
  for (const { text } of [home, own, page]) expect(text).not.toMatch(/<img|href="javascript:|<script/);
  expect(await open('/nobody/nothing')).toMatchObject({ status: 404, text: expect.stringContaining('Page not found') });
  expect(JSON.parse((await open('/nobody/nothing', '*/*')).text)).toMatchObject({ message: 'Not Found' });
  expect((await open('/%ff/x')).status).toBe(404);
  for (const full_name of ['shop', '../x', 'x/..', 'a/b/c']) {
    const body = JSON.stringify({ full_name });
    expect((await fetch(`${host.cloneUrl}/sandbox/repositories`, { method: 'POST', body })).status).toBe(422);
  }
  await host.close();
});
