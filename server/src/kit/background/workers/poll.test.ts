// Tests polling.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { systemClock } from '../../clock.ts';
import { openDatabase } from '../../db/database.ts';
import type { Loop } from './loop.ts';
import { type DueWork, startPolling } from './poll.ts';
import { openWakeUps } from './wake.ts';

let polls = 0;
const cloned = await cloneTemplate();
const { db, close } = openDatabase<never>({
  url: cloned.url,
  poolSize: 2,
  onStatement(text) {
    if (text.includes('due_0')) polls += 1;
  },
});
await cloned.runAsOwner('create table ticks (topic text not null, at timestamptz not null)');
const wake = openWakeUps('redis://127.0.0.1:6379', `${crypto.randomUUID()}:`);
const errors: unknown[] = [];
const started: Loop[] = [];
const tickOf = (topic: string) => ({
  topic,
  dueInMs: `select extract(epoch from at - $1) * 1000 from ticks where topic = '${topic}' order by at limit 1`,
});
const start = (...topics: string[]) => startEach(topics.map(tickOf));
const startEach = (works: readonly DueWork[]) => {
  const polling = startPolling(works, {
    db,
    clock: systemClock,
    wake: { ...wake, pollMs: () => 200 },
    onError: (_, error) => errors.push(error),
  });
  started.push(polling);
  const woken = works.map(({ topic }) => {
    const listener = vi.fn();
    wake.listen(topic, listener);
    return listener;
  });
  return { polling, woken };
};
/** Returns the time at which the tick is due. */
const addTick = async (topic: string, inMs: number): Promise<number> => {
  const at = Date.now() + inMs;
  await sql`insert into ticks values (${topic}, ${new Date(at)})`.execute(db);
  return at;
};

afterEach(async () => {
  await Promise.all(started.splice(0).map((polling) => polling.stop()));
  await cloned.runAsOwner(
    'drop table if exists ticks; create table ticks (topic text not null, at timestamptz not null)',
  );
  errors.length = 0;
});
afterAll(async () => {
  wake.close();
  await close();
  await cloned.drop();
});

it('wakes what is due, again until it is done, and nothing else', async () => {
  await addTick('due', -1);
  await addTick('later', 60_000);
  const { woken } = start('due', 'later', 'nothing');
  const [due, later, nothing] = woken;
  await expect.poll(() => due?.mock.calls.length).toBeGreaterThan(1);
  expect(later).not.toHaveBeenCalled();
  expect(nothing).not.toHaveBeenCalled();
});

it('wakes what stays due at most every `everyMs`', async () => {
  await addTick('stuck', -1);
  const { woken } = startEach([{ ...tickOf('stuck'), everyMs: 700 }]);
  await expect.poll(() => woken[0]?.mock.calls.length, { interval: 5 }).toBe(1);
  const at = performance.now();
  await expect.poll(() => woken[0]?.mock.calls.length, { interval: 5 }).toBe(2);
  expect(performance.now() - at).toBeGreaterThan(600);
});

it('wakes what becomes due before the next poll at its time, not before', async () => {
  const at = await addTick('soon', 450); // a poll finds it less than 200 ms before it is due
  const { woken } = start('soon');
  await expect.poll(() => woken[0]?.mock.calls.length, { interval: 5 }).toBe(1);
  expect(Date.now()).toBeGreaterThanOrEqual(at - 2); // timers are accurate to a millisecond
});

it('sends one statement for everything', async () => {
  polls = 0;
  start('a', 'b', 'c', 'd');
  await sleep(300);
  expect(polls).toBeGreaterThan(0);
  expect(polls).toBeLessThanOrEqual(3);
});

it('wakes everything while it cannot look, and looks again', async () => {
  await cloned.runAsOwner('drop table ticks');
  const { woken } = start('a', 'b');
  await expect.poll(() => woken.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  expect(errors).toHaveLength(1);
  await cloned.runAsOwner('create table ticks (topic text not null, at timestamptz not null)');
  await addTick('b', -1);
  await expect.poll(() => woken[1]?.mock.calls.length).toBeGreaterThan(2);
});

it('wakes nobody after it was stopped', async () => {
  const { polling, woken } = start('soon');
  await addTick('soon', 150);
  await sleep(250);
  await polling.stop();
  const calls = woken[0]?.mock.calls.length;
  await sleep(250);
  expect(woken[0]?.mock.calls.length).toBe(calls);
});
