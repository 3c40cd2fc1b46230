// Tests when tokens are refreshed, and when a failed refresh is retried.
import { describe, expect, it } from 'vitest';
import { isWorthRefreshing, mayRefreshRefused, planRefresh, planRetry } from './schedule.ts';

const at = (time: string) => new Date(`2026-05-01T${time}Z`);

describe('a refresh', () => {
  it('is planned 5 minutes before the token expires, or halfway if it is valid for less than 10', () => {
    expect(planRefresh(at('12:00:00'), at('13:00:00'), true)).toEqual(at('12:55:00'));
    expect(planRefresh(at('12:00:00'), at('12:04:00'), true)).toEqual(at('12:02:00'));
  });

  it('is not planned for a token that does not expire, or without a refresh token', () => {
    expect(planRefresh(at('12:00:00'), undefined, true)).toBeNull();
    expect(planRefresh(at('12:00:00'), at('13:00:00'), false)).toBeNull();
  });
});

describe('a failed refresh', () => {
  it.each([
    [1, '12:01:00'],
    [2, '12:05:00'],
    [3, '12:15:00'],
    [4, '13:00:00'],
    [9, '13:00:00'],
  ])('is repeated after 1, 5 and 15 minutes and then hourly: failure %i', (failures, next) => {
    expect(planRetry(at('12:00:00'), failures, at('23:00:00'), true)).toEqual(at(next));
  });

  it('is repeated at the moment at which the token expires, if that comes first', () => {
    expect(planRetry(at('12:56:00'), 2, at('13:00:00'), true)).toEqual(at('13:00:00'));
  });

  it('is not repeated after that, unless its outcome is unknown', () => {
    expect(planRetry(at('13:00:00'), 3, at('13:00:00'), true)).toBeNull();
    expect(planRetry(at('13:00:00'), 3, at('13:00:00'), false)).toEqual(at('13:15:00'));
    expect(planRetry(at('13:00:00'), 3, null, true)).toEqual(at('13:15:00'));
  });
});

describe('a use of the connection', () => {
  const times = (expires: string, next: string | null, refresh_attempts = 0, ended: string | null = null) => ({
    expires_at: at(expires),
    next_refresh_at: next === null ? null : at(next),
    refresh_attempts,
    refresh_ended_at: ended === null ? null : at(ended),
    connected_at: at('12:00:00'),
  });

  it('refreshes first from the time on that the schedule says', () => {
    expect(isWorthRefreshing(times('13:00:00', '12:55:00'), at('12:54:59'))).toBe(false);
    expect(isWorthRefreshing(times('13:00:00', '12:55:00'), at('12:55:00'))).toBe(true);
  });

  it('waits for the schedule while the token is valid, and tries once a minute when it has expired', () => {
    const failed = times('13:00:00', null, 4, '13:00:00');
    expect(isWorthRefreshing(failed, at('13:00:30'))).toBe(false);
    expect(isWorthRefreshing(failed, at('13:01:00'))).toBe(true);
    expect(isWorthRefreshing(times('13:30:00', '14:00:00', 4), at('13:20:00'))).toBe(false);
  });

  it('of a token that has expired and has no schedule finds out that it cannot be refreshed', () => {
    expect(isWorthRefreshing(times('13:00:00', null), at('13:00:00'))).toBe(true);
  });

  it('that is refused refreshes a token that is a minute old, and after failures only when the schedule says so', () => {
    const unused = times('13:00:00', '12:55:00');
    expect(mayRefreshRefused(unused, at('12:00:59'))).toBe(false);
    expect(mayRefreshRefused(unused, at('12:01:00'))).toBe(true);
    expect(mayRefreshRefused(times('13:00:00', '12:55:00', 0, '12:30:00'), at('12:30:30'))).toBe(false);
    const failed = times('13:00:00', '12:35:00', 2, '12:30:00');
    expect(mayRefreshRefused(failed, at('12:34:00'))).toBe(false);
    expect(mayRefreshRefused(failed, at('12:35:00'))).toBe(true);
  });
});
