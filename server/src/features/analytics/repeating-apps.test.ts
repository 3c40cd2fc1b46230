// Tests how many apps that repeat events are remembered, and for how long.
import { expect, it } from 'vitest';
import { createRepeatingApps } from './repeating-apps.ts';

const start = Date.parse('2026-11-16T12:00:00Z');
const after = (ms: number) => new Date(start + ms);

it('remembers an app for a minute after the last time that it repeated an event', () => {
  const repeating = createRepeatingApps();
  expect(repeating.has('a', after(0))).toBe(false);
  repeating.add('a', after(0));
  expect(repeating.has('a', after(59_999))).toBe(true);
  expect(repeating.has('a', after(60_000))).toBe(false);
  expect(repeating.has('b', after(0))).toBe(false);
  repeating.add('a', after(30_000));
  expect(repeating.has('a', after(89_999))).toBe(true);
  expect(repeating.has('a', after(90_000))).toBe(false);
});

it('remembers the latest 10,000 apps, however many repeat events', () => {
  const repeating = createRepeatingApps();
  const names = Array.from({ length: 25_000 }, (_, n) => `app ${n}`);
  for (const name of names) repeating.add(name, after(0));
  expect(names.filter((name) => repeating.has(name, after(1)))).toEqual(names.slice(15_000));
});
