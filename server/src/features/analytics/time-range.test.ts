// Tests that a time range is split into parts that cover it exactly.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventUnits, heartbeatUnits, splitRange } from './time-range.ts';

const sizes = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, heartbeat_second: 1_000 };

describe('a range', () => {
  it('is split into the rest of a second, seconds, minutes, hours, days and hours', () => {
    const at = (text: string) => Date.parse(`2026-11-${text}Z`);
    const { buckets, edges } = splitRange(at('14T22:58:30.250'), at('16T01:00:00'), eventUnits);
    expect(edges).toEqual([
      { bucket: at('14T22:58:30') / sizes.second, from: at('14T22:58:30.250'), to: at('14T22:58:31') },
    ]);
    expect(buckets.map(({ grain, first, end }) => [grain, new Date(first * sizes[grain]), end - first])).toEqual([
      ['day', new Date(at('15T00:00:00')), 1],
      ['hour', new Date(at('14T23:00:00')), 1],
      ['hour', new Date(at('16T00:00:00')), 1],
      ['minute', new Date(at('14T22:59:00')), 1],
      ['second', new Date(at('14T22:58:31')), 29],
    ]);
  });

  it('is covered by its parts, without a gap and without an overlap, whatever its ends', () => {
    const base = Date.parse('2026-09-01T00:00:00Z');
    const time = fc.oneof(fc.nat(90 * sizes.day), fc.nat(3 * sizes.minute));
    const units = fc.constantFrom(eventUnits, heartbeatUnits);
    fc.assert(
      fc.property(time, time, units, (a, b, units) => {
        const [from, to] = [base + Math.min(a, b), base + Math.max(a, b)];
        const { buckets, edges } = splitRange(from, to, units);
        const smallest = units[0]?.ms ?? 1;
        for (const edge of edges) expect(Math.floor((edge.to - 1) / smallest)).toBe(edge.bucket);
        for (const edge of edges) expect(Math.floor(edge.from / smallest)).toBe(edge.bucket);
        const parts = [
          ...buckets.map(({ grain, first, end }) => [first * sizes[grain], end * sizes[grain]]),
          ...edges.map((edge) => [edge.from, edge.to]),
        ].sort(([a = 0], [b = 0]) => a - b);
        let reached = from;
        for (const [start, end] of parts) {
          expect(start).toBe(reached);
          reached = end ?? 0;
        }
        expect(reached).toBe(to);
        if (units === eventUnits) expect(buckets.length).toBeLessThanOrEqual(7);
      }),
      { numRuns: 2_000 },
    );
  });
});
