// Tests the sandbox as `npm run dev` starts it: a child process that reports its servers' addresses, even while another
// sandbox is running.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

it('starts beside another sandbox, on other ports, with a start page, and exits with the process that started it', async () => {
  const children = [fork(main, { silent: true }), fork(main, { silent: true })];
  const messages = await Promise.all(children.map((child) => once(child, 'message')));
  const isText = (value: unknown): value is string => typeof value === 'string';
  const addresses = messages.flatMap(([message]) => Object.values(message as object).filter(isText));
  expect(new Set(addresses).size).toBe(30);
  for (const url of addresses.filter((address) => address.endsWith('/inbox')))
    expect(await (await fetch(url)).json()).toEqual([]);
  for (const [message] of messages) {
    const { startPageUrl, inboxUrl, receiverUrl, gitHostCloneUrl } = message as Record<string, string>;
    const page = await (await fetch(String(startPageUrl))).text();
    expect(page.match(/Stands in for/g)).toHaveLength(9);
    for (const url of [inboxUrl, `${receiverUrl}/received`, gitHostCloneUrl]) {
      expect(page).toContain(`href="${url}"`);
      const linked = await fetch(String(url), { headers: { accept: 'text/html' } });
      expect(await linked.text(), url).toContain(`<a href="${startPageUrl}">`);
    }
  }
  const exits = children.map((child) => once(child, 'exit'));
  for (const child of children) child.disconnect();
  expect(await Promise.all(exits)).toEqual([
    [0, null],
    [0, null],
  ]);
});
