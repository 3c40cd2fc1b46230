// Tests for a report's date range.
import { describe, expect, it } from 'vitest';
import { cutRange, type DatePreset, datePresets, dayIn, toRange } from './dates.ts';

describe('the day in a time zone', () => {
  it.each([
    ['UTC', '2026-11-16T23:59:59.999Z', '2026-11-16'],
    // Daylight saving time begins and ends on these days, so they have 23 or 25 hours.
    ['Europe/Paris', '2026-03-28T22:59:59Z', '2026-03-28'],
    ['Europe/Paris', '2026-03-28T23:00:00Z', '2026-03-29'],
    ['Europe/Paris', '2026-03-29T21:59:59Z', '2026-03-29'],
    ['Europe/Paris', '2026-03-29T22:00:00Z', '2026-03-30'],
    ['Europe/Paris', '2026-10-24T22:00:00Z', '2026-10-25'],
    ['Europe/Paris', '2026-10-25T22:59:59Z', '2026-10-25'],
    ['America/New_York', '2026-03-08T04:59:59Z', '2026-03-07'],
    ['America/New_York', '2026-03-09T03:59:59Z', '2026-03-08'],
    ['America/New_York', '2026-11-02T04:59:59Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T05:00:00Z', '2026-11-02'],
    ['America/Los_Angeles', '2027-01-01T07:59:59Z', '2026-12-31'],
    // Daylight saving time begins at midnight here, so the day starts at one o'clock.
    ['America/Santiago', '2026-09-06T03:59:59Z', '2026-09-05'],
    ['America/Santiago', '2026-09-06T04:00:00Z', '2026-09-06'],
    ['Asia/Kolkata', '2026-12-31T18:30:00Z', '2027-01-01'],
    ['Asia/Kathmandu', '2026-02-28T18:14:59Z', '2026-02-28'],
    ['Asia/Tokyo', '2028-02-28T15:00:00Z', '2028-02-29'],
    // Daylight saving time shifts the clock by half an hour here.
    ['Australia/Lord_Howe', '2026-10-03T13:29:59Z', '2026-10-03'],
    ['Australia/Lord_Howe', '2026-10-04T12:59:59Z', '2026-10-04'],
    ['Pacific/Kiritimati', '2026-12-31T10:00:00Z', '2027-01-01'],
    ['Pacific/Pago_Pago', '2027-01-01T10:59:59Z', '2026-12-31'],
  ])('%s at %s is %s', (timezone, time, day) => {
    expect(dayIn(timezone, new Date(time))).toBe(day);
  });
});

/** `from to` for each preset, in the order of `datePresets`. */
const expected: Record<string, readonly string[]> = {
  // A Monday in the middle of a month.
  '2026-11-16': [
    '2026-11-16 2026-11-16',
    '2026-11-15 2026-11-15',
    '2026-11-10 2026-11-16',
    '2026-11-02 2026-11-15',
    '2026-10-18 2026-11-16',
    '2026-08-19 2026-11-16',
    '2026-11-16 2026-11-16',
    '2026-11-15 2026-11-16',
    '2026-11-09 2026-11-15',
    '2026-11-08 2026-11-14',
    '2026-11-09 2026-11-13',
    '2026-11-01 2026-11-15',
    '2026-10-01 2026-10-31',
  ],
  // A Sunday that is the first of the month, and the day on which daylight saving time ends in America.
  '2026-11-01': [
    '2026-11-01 2026-11-01',
    '2026-10-31 2026-10-31',
    '2026-10-26 2026-11-01',
    '2026-10-18 2026-10-31',
    '2026-10-03 2026-11-01',
    '2026-08-04 2026-11-01',
    '2026-10-26 2026-11-01',
    '2026-11-01 2026-11-01',
    '2026-10-19 2026-10-25',
    '2026-10-25 2026-10-31',
    '2026-10-19 2026-10-23',
    'empty',
    '2026-10-01 2026-10-31',
  ],
  // A Friday, the first day of a year.
  '2027-01-01': [
    '2027-01-01 2027-01-01',
    '2026-12-31 2026-12-31',
    '2026-12-26 2027-01-01',
    '2026-12-18 2026-12-31',
    '2026-12-03 2027-01-01',
    '2026-10-04 2027-01-01',
    '2026-12-28 2027-01-01',
    '2026-12-27 2027-01-01',
    '2026-12-21 2026-12-27',
    '2026-12-20 2026-12-26',
    '2026-12-21 2026-12-25',
    'empty',
    '2026-12-01 2026-12-31',
  ],
  // A Tuesday, February 29.
  '2028-02-29': [
    '2028-02-29 2028-02-29',
    '2028-02-28 2028-02-28',
    '2028-02-23 2028-02-29',
    '2028-02-15 2028-02-28',
    '2028-01-31 2028-02-29',
    '2027-12-02 2028-02-29',
    '2028-02-28 2028-02-29',
    '2028-02-27 2028-02-29',
    '2028-02-21 2028-02-27',
    '2028-02-20 2028-02-26',
    '2028-02-21 2028-02-25',
    '2028-02-01 2028-02-28',
    '2028-01-01 2028-01-31',
  ],
  // A Monday, March 1 of a common year.
  '2027-03-01': [
    '2027-03-01 2027-03-01',
    '2027-02-28 2027-02-28',
    '2027-02-23 2027-03-01',
    '2027-02-15 2027-02-28',
    '2027-01-31 2027-03-01',
    '2026-12-02 2027-03-01',
    '2027-03-01 2027-03-01',
    '2027-02-28 2027-03-01',
    '2027-02-22 2027-02-28',
    '2027-02-21 2027-02-27',
    '2027-02-22 2027-02-26',
    'empty',
    '2027-02-01 2027-02-28',
  ],
  // A Saturday, the last day of a month.
  '2026-10-31': [
    '2026-10-31 2026-10-31',
    '2026-10-30 2026-10-30',
    '2026-10-25 2026-10-31',
    '2026-10-17 2026-10-30',
    '2026-10-02 2026-10-31',
    '2026-08-03 2026-10-31',
    '2026-10-26 2026-10-31',
    '2026-10-25 2026-10-31',
    '2026-10-19 2026-10-25',
    '2026-10-18 2026-10-24',
    '2026-10-19 2026-10-23',
    '2026-10-01 2026-10-30',
    '2026-09-01 2026-09-30',
  ],
};

/**
 * Ten time zones, each with a UTC time at which it is around noon, just after midnight or just before midnight there.
 */
const zones: readonly (readonly [string, string])[] = [
  ['UTC', '12:00:00Z'],
  ['Europe/Paris', '12:00:00Z'],
  ['America/New_York', '16:00:00Z'],
  ['America/Los_Angeles', '19:00:00Z'],
  ['America/Santiago', '15:00:00Z'],
  ['Asia/Kolkata', '18:29:59Z'],
  ['Asia/Tokyo', '14:59:59Z'],
  ['Asia/Kathmandu', '18:14:59Z'],
  ['Australia/Sydney', '12:59:59Z'],
  ['Atlantic/Azores', '01:00:00Z'],
];

describe.each(zones)('the presets in %s', (timezone, time) => {
  it.each(Object.entries(expected))('on %s', (day, ranges) => {
    const today = dayIn(timezone, new Date(`${day}T${time}`));
    expect(today).toBe(day);
    const found = datePresets.map((preset: DatePreset) => toRange(preset, today));
    expect(found.map((range) => (range === undefined ? 'empty' : `${range.from} ${range.to}`))).toEqual(ranges);
  });
});

describe('dates that were sent', () => {
  const today = '2026-11-16';
  it.each([
    ['are kept', '2026-10-01', '2026-10-31', '2026-10-01', '2026-10-31'],
    ['end today at the latest', '2026-11-01', '2027-01-31', '2026-11-01', '2026-11-16'],
    ['begin 37 months ago at the earliest', '2020-01-01', '2026-11-16', '2023-10-16', '2026-11-16'],
    ['may be the first day that is kept', '2023-10-16', '2023-10-16', '2023-10-16', '2023-10-16'],
  ])('%s', (_name, from, to, first, last) => {
    expect(cutRange({ from, to }, today)).toEqual({ from: first, to: last });
  });

  it('may leave nothing', () => {
    expect(cutRange({ from: '2026-11-17', to: '2026-12-01' }, today)).toBeUndefined();
    expect(cutRange({ from: '2020-01-01', to: '2023-10-15' }, today)).toBeUndefined();
  });

  it.each([
    ['2026-03-31', '2023-02-28'],
    ['2027-03-31', '2024-02-29'],
    ['2026-01-31', '2022-12-31'],
    ['2026-07-31', '2023-06-30'],
  ])('on %s begin on %s, the last day of a shorter month', (day, first) => {
    expect(cutRange({ from: '2000-01-01', to: day }, day)?.from).toBe(first);
  });
});
