// The sandbox as `npm run dev` starts it: a child process that says where its servers are, also beside another one.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

it('starts beside another sandbox, on other ports, and exits with the process that started it', async () => {
  const children = [fork(main, { silent: true }), fork(main, { silent: true })];
  const messages = await Promise.all(children.map((child) => once(child, 'message')));
  const addresses = messages.flatMap(([message]) => Object.values(message as Record<string, string>));
  expect(new Set(addresses).size).toBe(28);
  for (const url of addresses.filter((address) => address.endsWith('/inbox')))
    expect(await (await fetch(url)).json()).toEqual([]);
  const exits = children.map((child) => once(child, 'exit'));
  for (const child of children) child.disconnect();
  expect(await Promise.all(exits)).toEqual([
    [0, null],
    [0, null],
  ]);
});
