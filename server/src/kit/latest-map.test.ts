// Tests a map that only keeps the latest entries.
import { expect, it } from 'vitest';
import { LatestMap } from './latest-map.ts';

it('drops the entry that was set longest ago', () => {
  const map = new LatestMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
