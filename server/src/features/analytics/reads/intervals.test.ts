// Tests choosing an interval, and where its buckets begin.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseInterval, countBuckets, findBucketStart, intervals } from './intervals.ts';

const hour = 60 * 60 * 1000;
const day = 24 * hour;
const start = new Date('2026-11-02T00:00:00Z'); // a Monday
const range = (lengthMs: number, from = start) => ({ start: from, end: new Date(from.getTime() + lengthMs) });
const choose = (lengthMs: number, sizeMs?: number, max = 1_000) => chooseInterval(range(lengthMs), sizeMs, max).name;

describe('the interval of a request', () => {
  it('is one of the thirteen', () => {
    expect(intervals.map(({ name }) => name)).toEqual('1h 2h 3h 4h 6h 8h 12h 1d 2d 3d 1w 2w 30d'.split(' '));
  });

  it('is rounded down, and up to an hour below that', () => {
    expect(choose(day, 1)).toBe('1h');
    expect(choose(day, hour)).toBe('1h');
    expect(choose(day, 2 * hour - 1)).toBe('1h');
    expect(choose(day, 5 * hour)).toBe('4h');
    expect(choose(day, 23 * hour)).toBe('12h');
    expect(choose(day, 6 * day)).toBe('3d');
    expect(choose(day, 29 * day)).toBe('2w');
    expect(choose(day, 400 * day)).toBe('30d');
  });

  it('is raised until the buckets are not more than the maximum', () => {
    expect(choose(30 * day, hour, 100)).toBe('8h');
    expect(choose(day, hour, 24)).toBe('1h');
    expect(choose(day, hour, 23)).toBe('2h');
    expect(choose(day, hour, 1)).toBe('1d');
    expect(choose(60 * day, undefined, 100)).toBe('1d');
  });

  it('counts a bucket of which only a part is in the range', () => {
    const shifted = range(day, new Date(start.getTime() + 1));
    expect(chooseInterval(shifted, hour, 24).name).toBe('2h');
    expect(countBuckets(shifted, intervals[0])).toBe(25);
  });

  it('is the largest if even that has too many buckets', () => {
    expect(choose(60 * day, hour, 1)).toBe('30d');
  });
});

describe('buckets', () => {
  const startOf = (time: string, name: string) => {
    const interval = intervals.find((each) => each.name === name) ?? intervals[0];
    return new Date(findBucketStart(Date.parse(time), interval)).toISOString();
  };

  it('begin at full hours and days of UTC, and weeks on Mondays', () => {
    expect(startOf('2026-11-15T09:59:59.999Z', '1h')).toBe('2026-11-15T09:00:00.000Z');
    expect(startOf('2026-11-15T09:59:59.999Z', '6h')).toBe('2026-11-15T06:00:00.000Z');
    expect(startOf('2026-11-15T00:00:00.000Z', '1d')).toBe('2026-11-15T00:00:00.000Z');
    expect(startOf('2026-11-15T23:59:59.999Z', '1w')).toBe('2026-11-09T00:00:00.000Z');
    expect(new Date(startOf('2026-11-15T23:59:59.999Z', '2w')).getUTCDay()).toBe(1);
  });

  it('each contain the times from their start, and count as many as a range touches', () => {
    const times = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2027-01-01') });
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 60 * day }),
        fc.constantFrom(...intervals),
        (time, length, interval) => {
          const first = findBucketStart(time, interval);
          expect(first <= time && time < first + interval.sizeMs).toBe(true);
          const last = findBucketStart(time + length - 1, interval);
          expect(countBuckets(range(length, new Date(time)), interval)).toBe((last - first) / interval.sizeMs + 1);
        },
      ),
    );
  });
});
