// The git host of the sandbox: what people see of a pull request, and that it continues where it was.
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
  const pull = { title: '<b>Work</b>', body: 'Text <!-- hidden --> & more', head: 'work', base: 'main' };
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
  expect(page).not.toContain('hidden');
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
