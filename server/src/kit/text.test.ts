// Tests parsing and printing times: our fast functions must agree with JavaScript's slower ones.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseTime, printTime } from './text.ts';

const times = fc.date({
  min: new Date('1970-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

it('printTime prints every time as toISOString does, in any order', () => {
  fc.assert(
    fc.property(times, fc.integer({ min: -90_000, max: 90_000 }), (time, laterMs) => {
      const other = new Date(Math.max(0, time.getTime() + laterMs));
      for (const each of [time, other, time]) expect(printTime(each)).toBe(each.toISOString());
    }),
  );
});

it('parseTime reads what toISOString prints', () => {
  fc.assert(
    fc.property(times, (time) => {
      expect(parseTime(time.toISOString())).toEqual(time);
    }),
  );
});

it.each([
  ['2026-02-28T09:30:00Z', '2026-02-28T09:30:00.000Z'],
  ['2026-02-28T09:30:00', '2026-02-28T09:30:00.000Z'],
  ['2026-02-28T09:30:00.123456789Z', '2026-02-28T09:30:00.123Z'],
  ['2026-02-28T09:30:00.1+02:00', '2026-02-28T07:30:00.100Z'],
  ['1969-12-31T23:30:00-01:00', '1970-01-01T00:30:00.000Z'],
  ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
])('parseTime reads %s', (text, printed) => {
  expect(parseTime(text)?.toISOString()).toBe(printed);
});

it.each([
  '2026-02-29T00:00:00.000Z',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00.000Z',
  '2026-00-01T00:00:00.000Z',
  '2026-01-00T00:00:00.000Z',
  '2026-01-01T24:00:00.000Z',
  '2026-01-01T00:60:00.000Z',
  '2026-01-01T00:00:60.000Z',
  '1969-12-31T23:59:59.999Z',
  '0099-01-01T00:00:00.000Z',
  '9999-12-31T23:30:00-01:00',
  '2026-01-01T00:00:00+25:00',
  '2026-01-01 00:00:00.000Z',
  '2026-01-01T00:00:00.0000Z\n',
  'Wed, 18 Nov 2026 9:30 Z.',
  '',
])('parseTime refuses %j', (text) => {
  expect(parseTime(text)).toBeUndefined();
});
