// Schedules are due when the clock of their time zone says so, and never within five minutes of each other.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextTick, Schedule } from './index.ts';

const list = (schedule: Schedule, after: string, count: number): string[] => {
  const ticks: string[] = [];
  for (let tick: Date | null = new Date(after); ticks.length < count; ) {
    tick = nextTick(schedule, tick);
    if (tick === null) break;
    ticks.push(tick.toISOString().replace('.000Z', 'Z'));
  }
  return ticks;
};
const cron = (expression: string, timezone = 'UTC') => ({ cron: expression, timezone });
const faultsOf = (schedule: unknown) =>
  Schedule.safeParse(schedule).error?.issues.map(({ path, message }) => [path.join('.'), message]) ?? [];

describe('Schedule', () => {
  it('accepts a cron expression with a time zone, an interval, or one time', () => {
    for (const schedule of [
      cron('*/5 * * * *'),
      cron('0 9 * * MON-FRI', 'Europe/Berlin'),
      cron('0,30 8-18/2 1,15 1-6 *', 'Etc/GMT+5'),
      cron('2,58 9 * * *'),
      cron('2,58 0,23 1 * *'),
      cron('0 0 29 2 *'),
      cron('0 0 * * 7'),
      { every_minutes: 5 },
      { every_minutes: 525_600, ends_after: 1, ends_at: '2030-01-01T00:00:00Z' },
      { at: '2026-11-15T09:30:00+01:00' },
    ])
      expect([schedule, faultsOf(schedule)]).toEqual([schedule, []]);
  });

  const notCron = 'must be a cron expression of 5 fields, such as 0 9 * * 1-5';
  const tooOften = 'must not apply twice within 5 minutes';
  const faulty: [schedule: unknown, path: string, message?: string][] = [
    [{}, '', 'must have exactly one of cron, every_minutes, at'],
    [{ every_minutes: 5, at: '2030-01-01T00:00:00Z' }, ''],
    [{ every_minutes: 4 }, 'every_minutes'],
    [{ every_minutes: 525_601 }, 'every_minutes'],
    [{ every_minutes: 7.5 }, 'every_minutes'],
    [{ every_minutes: 5, timezone: 'UTC' }, 'timezone', 'must not be sent without cron'],
    [{ every_minutes: 5, ends_after: 0 }, 'ends_after'],
    [{ every_minutes: 5, ends_at: 'tomorrow' }, 'ends_at'],
    [{ every_minutes: 5, minutes: 5 }, ''],
    [{ at: '2026-02-30T00:00:00Z' }, 'at'],
    [{ cron: '0 9 * * *' }, 'timezone', 'is required with cron'],
    [cron('0 9 * * *', 'Mars/Olympus'), 'timezone', 'must be the name of a time zone, such as Europe/Berlin or UTC'],
    [cron('0 9 * * *', '+01:00'), 'timezone'],
    [cron('@daily'), 'cron', notCron],
    [cron('0 0 9 * * *'), 'cron', notCron],
    [cron('0 9 * *'), 'cron', notCron],
    [cron('60 9 * * *'), 'cron', notCron],
    [cron('0 9 L * *'), 'cron', notCron],
    [cron('0 9 * * MON#1'), 'cron', notCron],
    [cron('0 9 ? * *'), 'cron', notCron],
    [cron('H 9 * * *'), 'cron', notCron],
    [cron('0 9 * FOO *'), 'cron', notCron],
    [cron('0/5 * * * *'), 'cron', notCron],
    [cron('0 9 * * *\n'), 'cron', notCron],
    [cron('0 0 30 2 *'), 'cron', 'must be a cron expression that applies at some time'],
    [cron('* * * * *'), 'cron', tooOften],
    [cron('*/4 * * * *'), 'cron', tooOften],
    [cron('0,3 9 * * *'), 'cron', tooOften],
    [cron('0,58 * * * *'), 'cron', tooOften],
    [cron('1,58 9,10 * * 1'), 'cron', tooOften],
    [cron('1,58 0,23 * * *'), 'cron', tooOften],
    [cron('1,58 0,23 14,15 6 *'), 'cron', tooOften],
    [cron('*/7 * * * *'), 'cron', tooOften], // 56 and 0
  ];
  it.each(faulty)('refuses %j', (schedule, path, message) => {
    const faults = faultsOf(schedule);
    expect(faults).toContainEqual([path, message ?? expect.any(String)]);
  });

  it('reads any text as a cron expression without throwing, and what it accepts has ticks', () => {
    const word = fc.constantFrom(
      '*',
      '0',
      '5',
      '59',
      '1-5',
      '*/15',
      'MON',
      'jan',
      '0,30',
      '31',
      '2',
      '29',
      'x',
      '-1',
      '99',
      '',
    );
    fc.assert(
      fc.property(fc.array(word, { minLength: 4, maxLength: 6 }), (words) => {
        const schedule = cron(words.join(' '), 'America/Santiago');
        if (faultsOf(schedule).length > 0) return;
        const [first, second] = list(schedule, '2026-01-01T00:00:00Z', 2).map((tick) => Date.parse(tick));
        expect((second ?? Number.NaN) - (first ?? Number.NaN)).toBeGreaterThanOrEqual(300_000);
      }),
      { numRuns: 200 },
    );
  });
});

describe('nextTick', () => {
  it('follows the clock of its time zone over the changes of summer time', () => {
    const cases: [string, string, string, string[]][] = [
      // Clocks go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October 2026.
      ['30 9 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', ['2026-03-28T08:30:00Z', '2026-03-29T07:30:00Z']],
      ['30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
      ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
      ['0 0 * * *', 'America/New_York', '2026-03-07T12:00:00Z', ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
      // From 02:00 to 01:30 on 5 April, so that 02:15 is at +10:30 only; and from 00:00 to 01:00 on 6 September.
      ['15 2 * * *', 'Australia/Lord_Howe', '2026-04-03T16:00:00Z', ['2026-04-04T15:45:00Z', '2026-04-05T15:45:00Z']],
      ['30 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', ['2026-09-06T04:00:00Z', '2026-09-07T03:30:00Z']],
      ['0 9 * * 1', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', ['2026-01-05T03:15:00Z', '2026-01-12T03:15:00Z']],
      ['0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
    ];
    for (const [expression, timezone, after, ticks] of cases)
      expect([expression, timezone, list(cron(expression, timezone), after, 2)]).toEqual([expression, timezone, ticks]);
  });

  it('has one tick on every day of the year, in every zone', () => {
    for (const zone of [
      'Europe/Berlin',
      'America/Santiago',
      'Australia/Lord_Howe',
      'Africa/Cairo',
      'Pacific/Chatham',
      'UTC',
    ])
      for (const hour of [0, 1, 2, 3, 23]) {
        const ticks = list(cron(`30 ${hour} * * *`, zone), '2025-12-31T18:00:00Z', 365);
        const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
        expect([zone, hour, new Set(ticks.map((tick) => format.format(new Date(tick)))).size]).toEqual([
          zone,
          hour,
          365,
        ]);
      }
  });

  it('comes later than the time before it, and is the only tick until then', () => {
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Asia/Kathmandu');
    const expression = fc.constantFrom(
      '*/5 * * * *',
      '0 */2 * * *',
      '30 2 * * *',
      '17 3 1 * *',
      '0 9 * * 1-5',
      '0 0 29 2 *',
    );
    const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(
        expression,
        zone,
        time,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (text, timezone, after, share) => {
          const next = nextTick(cron(text, timezone), after);
          if (next === null) throw new Error('no tick');
          expect(next.getTime()).toBeGreaterThan(after.getTime());
          const between = new Date(after.getTime() + Math.floor(share * (next.getTime() - after.getTime() - 1)));
          expect(nextTick(cron(text, timezone), between)).toEqual(next);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('counts an interval from the tick before, and a single time once', () => {
    expect(list({ every_minutes: 90 }, '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-01-01T01:30:00Z',
      '2026-01-01T03:00:00Z',
    ]);
    expect(list({ at: '2026-01-01T10:00:00+02:00' }, '2026-01-01T00:00:00Z', 5)).toEqual(['2026-01-01T08:00:00Z']);
    expect(list({ at: '2026-01-01T00:00:00Z' }, '2026-01-01T00:00:00Z', 5)).toEqual([]);
  });

  it('has no tick after the end, but one at the end', () => {
    const ends_at = '2026-01-01T02:00:00Z';
    expect(list({ ...cron('0 * * * *'), ends_at }, '2026-01-01T00:00:00Z', 9)).toEqual([
      '2026-01-01T01:00:00Z',
      '2026-01-01T02:00:00Z',
    ]);
    expect(list({ every_minutes: 50, ends_at }, '2026-01-01T00:00:00Z', 9)).toEqual([
      '2026-01-01T00:50:00Z',
      '2026-01-01T01:40:00Z',
    ]);
    expect(list({ at: '2026-01-01T03:00:00Z', ends_at }, '2026-01-01T00:00:00Z', 9)).toEqual([]);
  });

  it('throws for a stored schedule that is not valid', () => {
    expect(() => nextTick(cron('nonsense'), new Date(0))).toThrow();
    expect(() => nextTick(cron('0 9 * * *', 'Mars/Olympus'), new Date(0))).toThrow();
  });
});
