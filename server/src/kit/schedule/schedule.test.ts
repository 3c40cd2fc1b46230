// Tests that schedules follow their time zone's clock, and that ticks are at least five minutes apart.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someOf } from '../../../test/support/cases.ts';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
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
      cron('1,58 0,23 1,30 1,2 *'),
      cron('1,58 0,23 * * MON,3-5/2'),
      cron('0 0 30 2 MON'),
      cron('0 0 29 2 *'),
      cron('0 0 * * 7'),
      { every_minutes: 5 },
      { every_minutes: 525_600, ends_after: 1, ends_at: '2030-01-01T00:00:00Z' },
      { at: '2026-11-15T09:30:00+01:00' },
    ])
      expect([schedule, faultsOf(schedule)]).toEqual([schedule, []]);
  });

  const notCron = 'must be a cron expression with 5 fields, such as 0 9 * * 1-5';
  const tooOften = 'must not match at times less than 5 minutes apart';
  const faulty: [schedule: unknown, path: string, message?: string][] = [
    [{}, '', 'must contain exactly one of cron, every_minutes, at'],
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
    [cron('0 9 * * *', 'Mars/Olympus'), 'timezone', 'must be a time zone name, such as Europe/Berlin or UTC'],
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
    [cron('0 0 30 2 *'), 'cron', 'must be a cron expression that matches at least one date'],
    [cron('* * * * *'), 'cron', tooOften],
    [cron('*/4 * * * *'), 'cron', tooOften],
    [cron('0,3 9 * * *'), 'cron', tooOften],
    [cron('0,58 * * * *'), 'cron', tooOften],
    [cron('1,58 9,10 * * 1'), 'cron', tooOften],
    [cron('1,58 0,23 * * *'), 'cron', tooOften],
    [cron('1,58 0,23 14,15 6 *'), 'cron', tooOften],
    [cron('*/7 * * * *'), 'cron', tooOften], // minutes 56 and 0
    [cron('0-50/5,58 0,23 1 * MON'), 'cron', tooOften], // when the first of the month is a Sunday
    [cron('1,58 0,23 28,29 2 *'), 'cron', tooOften], // in leap years
    [cron('1,58 0,23 * * SUN,MON'), 'cron', tooOften],
    [cron('1,58 0,23 * * 6-7'), 'cron', tooOften],
    [cron('1,58 0,23 1,31 JUL,aug *'), 'cron', tooOften],
    [cron('0 0 31 2,4,6,9,11 *'), 'cron', 'must be a cron expression that matches at least one date'],
  ];
  it.each(faulty)('refuses %j', (schedule, path, message) => {
    const faults = faultsOf(schedule);
    expect(faults).toContainEqual([path, message ?? expect.any(String)]);
  });

  it('applies the limit of 5 minutes to the times at which the expression applies', () => {
    const pick = (...words: string[]) => fc.constantFrom(...words);
    const minutes = pick('0', '58', '3,58', '*/5', '0-50/5,58', '1-59/29', '59,4', '*/30,7');
    const hours = pick('*', '0,23', '*/23', '5', '22-23,0-1', '7-19/6');
    const days = pick('*', '1', '*/2', '31', '1,31', '28-29', '10-20/9');
    const weekdays = pick('*', 'MON', '0,6', '5-7', 'tue-thu/2', '*/3', '7');
    const any = fc.tuple(minutes, hours, days, pick('*', '2', 'feb-MAR', '*/6', '7,8'), weekdays);
    fc.assert(
      fc.property(any, (words) => {
        const all = words.join(' ');
        const ticks = list(cron(all), '2028-01-30T00:00:00Z', 60).map((tick) => Date.parse(tick));
        const isTooOften = ticks.some((tick, index) => tick - (ticks[index - 1] ?? 0) < 300_000);
        const faults = faultsOf(cron(all)).map(([, message]) => message);
        if (isTooOften) expect([all, faults]).toEqual([all, [tooOften]]);
        else if (faults.includes('must be a cron expression that matches at least one date'))
          expect([all, ticks]).toEqual([all, []]);
      }),
      { numRuns: someOf(100) },
    );
  });

  it('checks a cron expression in a few milliseconds, however seldom it applies', () => {
    const checkBoth = () => {
      expect(faultsOf(cron('59 23 29 2 *'))).toEqual([]);
      expect(faultsOf(cron('0 0 30 2 *'))).toHaveLength(1);
    };
    expect(measureLeastCpuMs(checkBoth)).toBeLessThan(75);
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
      { numRuns: someOf(200) },
    );
  });
});

describe('nextTick', () => {
  it('follows the clock of its time zone over the changes of summer time', () => {
    const cases: [string, string, string, string[]][] = [
      // Berlin's clocks go from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October 2026.
      ['30 9 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', ['2026-03-28T08:30:00Z', '2026-03-29T07:30:00Z']],
      ['30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
      ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
      ['0 0 * * *', 'America/New_York', '2026-03-07T12:00:00Z', ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
      // Lord Howe's clocks go from 02:00 to 01:30 on 5 April, so 02:15 occurs only at +10:30. Santiago's clocks go from
      // 00:00 to 01:00 on 6 September.
      ['15 2 * * *', 'Australia/Lord_Howe', '2026-04-03T16:00:00Z', ['2026-04-04T15:45:00Z', '2026-04-05T15:45:00Z']],
      ['30 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', ['2026-09-06T04:00:00Z', '2026-09-07T03:30:00Z']],
      ['0 9 * * 1', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', ['2026-01-05T03:15:00Z', '2026-01-12T03:15:00Z']],
      ['0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
    ];
    for (const [expression, timezone, after, ticks] of cases)
      expect([expression, timezone, list(cron(expression, timezone), after, 2)]).toEqual([expression, timezone, ticks]);
  });

  it('has each tick of several in a day once, when clocks go forward and back', () => {
    const cases: [string, string, string, string[]][] = [
      ['0 2,14 * * *', 'Europe/Berlin', '2026-03-28T20:00:00Z', ['03-29T01:00', '03-29T12:00', '03-30T00:00']],
      ['0 2,14 * * *', 'Europe/Berlin', '2026-10-24T20:00:00Z', ['10-25T00:00', '10-25T13:00', '10-26T01:00']],
      ['0,30 2 * * *', 'Europe/Berlin', '2026-03-28T20:00:00Z', ['03-29T01:00', '03-30T00:00', '03-30T00:30']],
      ['0,30 2 * * *', 'Europe/Berlin', '2026-10-24T20:00:00Z', ['10-25T00:00', '10-25T00:30', '10-26T01:00']],
      ['*/20 1-2 * * 7', 'Europe/Berlin', '2026-03-29T00:30:00Z', ['03-29T00:40', '03-29T01:00', '04-04T23:00']],
      // New York's clocks go from 02:00 to 03:00 on 8 March, and from 02:00 to 01:00 on 1 November.
      ['15,45 1,2 * * *', 'America/New_York', '2026-03-08T06:20:00Z', ['03-08T06:45', '03-08T07:00', '03-09T05:15']],
      ['15,45 1,2 * * *', 'America/New_York', '2026-11-01T05:20:00Z', ['11-01T05:45', '11-01T07:15', '11-01T07:45']],
      // Lord Howe's clocks go from 02:00 to 02:30 on 4 October, and from 02:00 to 01:30 on 5 April.
      ['0,15 2,3 * * *', 'Australia/Lord_Howe', '2026-10-03T14:00:00Z', ['10-03T15:30', '10-03T16:00', '10-03T16:15']],
      ['40,50 1 * * *', 'Australia/Lord_Howe', '2026-04-04T14:00:00Z', ['04-04T14:40', '04-04T14:50', '04-05T15:10']],
      // Santiago's clocks go from 00:00 to 01:00 on 6 September, and from 24:00 to 23:00 on 4 April.
      ['0,30 0,12 * * *', 'America/Santiago', '2026-09-06T03:00:00Z', ['09-06T04:00', '09-06T15:00', '09-06T15:30']],
      ['0,30 23 * * *', 'America/Santiago', '2026-04-05T01:00:00Z', ['04-05T02:00', '04-05T02:30', '04-06T03:00']],
      ['0 2,14 * * *', 'UTC', '2026-03-28T20:00:00Z', ['03-29T02:00', '03-29T14:00', '03-30T02:00']],
    ];
    for (const [expression, timezone, after, ticks] of cases) {
      const found = list(cron(expression, timezone), after, 3).map((tick) => tick.slice(5, 16));
      expect([expression, timezone, found]).toEqual([expression, timezone, ticks]);
    }
  });

  it('follows the clock through a repeated hour if it is repeated itself', () => {
    expect(list(cron('*/30 * * * *', 'Europe/Berlin'), '2026-10-25T00:10:00Z', 4)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:00:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:00:00Z',
    ]);
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
      '0,30 1,2,14 * * *',
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
      { numRuns: someOf(200) },
    );
  });

  it('counts an interval from the tick before, and a single time once', () => {
    expect(list({ every_minutes: 90 }, '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-01-01T01:30:00Z',
      '2026-01-01T03:00:00Z',
    ]);
    const previous = new Date('2026-01-01T09:00:00Z');
    const next = (after: string) => nextTick({ every_minutes: 10 }, new Date(after), previous)?.toISOString();
    expect(next('2026-01-01T09:00:03.500Z')).toBe('2026-01-01T09:10:00.000Z');
    expect(next('2026-01-01T09:10:00Z')).toBe('2026-01-01T09:20:00.000Z');
    expect(next('2026-01-02T08:59:59Z')).toBe('2026-01-02T09:00:00.000Z');
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
