// Tests the pool of code-reading processes: a spare is started in advance, and each process is handed out once.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { listCodeProcesses } from '../../../../test/support/code-processes.ts';
import { ask, type ChildLimits, type Children, createChildren } from './children.ts';

const never = new AbortController().signal;
let children: Children;
afterEach(async () => {
  await children.close();
  expect(await listCodeProcesses()).toEqual([]);
});

/** Takes the first process. The other running process is the spare. */
async function start(limits: Partial<ChildLimits> = {}) {
  children = createChildren({ maxHeapMb: 256, maxIdleMs: 60_000, ...limits });
  const first = await children.take(never);
  return { first, spares: (await listCodeProcesses()).filter((pid) => pid !== first.pid) };
}

it('starts no process before the first scan', async () => {
  children = createChildren({ maxHeapMb: 256, maxIdleMs: 60_000 });
  expect(await listCodeProcesses()).toEqual([]);
});

it.runIf(process.getuid?.() === 0)('reads code as nobody, and without privileges', async () => {
  const { first } = await start();
  const status = readFileSync(`/proc/${first.pid}/status`, 'utf8');
  expect(status).toMatch(/\nUid:\t65534\t65534\t65534\t65534\n/);
  expect(status).toMatch(/\nNoNewPrivs:\t1\n/);
});

it('gives the second scan a process that was started before it was asked for', async () => {
  const { first, spares } = await start();
  expect(spares).toHaveLength(1);
  const second = await children.take(never);
  expect(second.pid).toBe(spares[0]);
  expect(second.pid).not.toBe(first.pid);
});

it('gives a spare to one of three scans that begin at once, and each of them a process of its own', async () => {
  const { first, spares } = await start();
  const taken = await Promise.all([children.take(never), children.take(never), children.take(never)]);
  const pids = taken.map(({ pid }) => pid);
  expect(new Set([first.pid, ...pids]).size).toBe(4);
  expect(pids.filter((pid) => pid === spares[0])).toHaveLength(1);
  expect(await listCodeProcesses()).toHaveLength(5); // includes one spare
});

it('never hands out a process again, even if its scan has ended', async () => {
  const { first } = await start();
  first.kill('SIGKILL');
  const second = await children.take(never);
  second.kill('SIGKILL');
  const third = await children.take(never);
  expect(new Set([first.pid, second.pid, third.pid]).size).toBe(3);
});

it.each([
  ['a moment ago', async () => {}],
  ['and whose exit was noticed', () => expect.poll(listCodeProcesses).toHaveLength(1)],
])('replaces a spare that died while it waited, %s', async (_when, wait) => {
  const { first, spares } = await start();
  process.kill(spares[0] as number, 'SIGKILL');
  await wait();
  const second = await children.take(never);
  expect([first.pid, spares[0]]).not.toContain(second.pid);
  expect(await ask(second, { kind: 'ping' }, 60_000, never)).toEqual({ kind: 'ready' });
  expect(await listCodeProcesses()).toHaveLength(3);
});

it('ends a spare that no scan has needed for a while, and keeps the process of the scan', async () => {
  const { first } = await start({ maxIdleMs: 200 });
  await expect.poll(listCodeProcesses).toEqual([first.pid]);
  expect(await ask(first, { kind: 'ping' }, 60_000, never)).toEqual({ kind: 'ready' });
});

it('starts no spare if none is to be kept', async () => {
  const { spares } = await start({ maxIdleMs: 0 });
  expect(spares).toEqual([]);
});

it('ends the process of a scan that is aborted while the process starts', async () => {
  children = createChildren({ maxHeapMb: 256, maxIdleMs: 60_000 });
  const controller = new AbortController();
  const taking = children.take(controller.signal);
  await expect.poll(listCodeProcesses).toHaveLength(1);
  controller.abort(new Error('lease lost'));
  await expect(taking).rejects.toThrow('lease lost');
  await expect.poll(listCodeProcesses).toEqual([]);
});

it('ends all processes when it is closed, and starts no other', async () => {
  const { first } = await start();
  const exit = once(first, 'exit');
  await children.close();
  expect(await exit).toEqual([null, 'SIGKILL']);
  expect(await listCodeProcesses()).toEqual([]);
  await expect(children.take(never)).rejects.toThrow('the scanner is closed');
});
