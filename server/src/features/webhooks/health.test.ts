// Tests two pure functions: how attempts affect a webhook's health, and how a delivery is scheduled.
import { describe, expect, it } from 'vitest';
import type { DeliveryAttempt as Made } from './attempt.ts';
import type { DeliveryRow, LastError } from './contract.ts';
import { applyAttempt } from './delivery.ts';
import { type AttemptSummary, applyAttempts, type WebhookHealth } from './health.ts';

const start = Date.parse('2026-11-14T09:30:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000);
const fresh: WebhookHealth = { last_trigger_time: null, last_error: null, consecutive_failures: 0, disabled_at: null };
const errorAt = (seconds: number): LastError => ({
  message: 'The endpoint responded with status 500.',
  attempted_at: at(seconds).toISOString(),
  status_code: 500,
  response_body: '',
  error_type: null,
});
const success = (seconds: number): AttemptSummary => ({
  attempted_at: at(seconds),
  error: null,
  isFirstFailure: false,
});
const first = (seconds: number): AttemptSummary => ({
  attempted_at: at(seconds),
  error: errorAt(seconds),
  isFirstFailure: true,
});
const repeated = (seconds: number): AttemptSummary => ({ ...first(seconds), isFirstFailure: false });
const firsts = (count: number) => Array.from({ length: count }, (_, second) => first(second));

describe('the health of a webhook', () => {
  it.each([
    ['counts the first failure of a delivery', [first(1)], 1],
    ['does not count later failures of the same delivery', [first(1), repeated(2), repeated(3)], 1],
    ['counts two failed deliveries as two', [first(1), first(2), repeated(3)], 2],
    ['starts again at zero after a success', [first(1), first(2), success(3)], 0],
    ['counts a failure after a success as one', [first(1), success(2), first(3)], 1],
    [
      'does not count a later failure of a counted delivery, even after a success',
      [first(1), success(2), repeated(3)],
      0,
    ],
  ])('%s', (_rule, attempts, consecutive_failures) => {
    expect(applyAttempts(fresh, attempts, at(9)).consecutive_failures).toBe(consecutive_failures);
  });

  it('counts exactly 20 failures, even if more deliveries fail together, or after the webhook was turned off', () => {
    const together = applyAttempts(fresh, firsts(25), at(30));
    expect(together).toMatchObject({ consecutive_failures: 20, disabled_at: at(30) });
    expect(applyAttempts(together, [first(31), first(32)], at(33))).toMatchObject({
      consecutive_failures: 20,
      disabled_at: at(30),
      warnings: [],
    });
  });

  it.each([
    [
      'sets last_trigger_time at every attempt and last_error at a failed one',
      [success(1), repeated(2)],
      2,
      errorAt(2),
    ],
    ['clears last_error at a success', [first(1), success(2)], 2, null],
    ['never sets last_trigger_time to an earlier time', [success(5), first(3)], 5, errorAt(3)],
  ])('%s', (_rule, attempts, seconds, last_error) => {
    expect(applyAttempts(fresh, attempts, at(9))).toMatchObject({ last_trigger_time: at(seconds), last_error });
  });

  it.each([
    [0, 9, [], false],
    [9, 1, [10], false],
    [10, 4, [], false],
    [14, 1, [15], false],
    [17, 1, [18], false],
    [18, 1, [], false],
    [19, 1, [20], true],
    [0, 25, [10, 15, 18, 20], true],
  ])(
    'after %i failures and %i more sends warnings at %j; disabled: %s',
    (consecutive_failures, more, warnings, off) => {
      const judged = applyAttempts({ ...fresh, consecutive_failures }, firsts(more), at(99));
      expect(judged.warnings).toEqual(warnings);
      expect(judged.disabled_at).toEqual(off ? at(99) : null);
    },
  );

  it('keeps the time at which a person disabled it, and counts no further failure', () => {
    const judged = applyAttempts({ ...fresh, consecutive_failures: 19, disabled_at: at(1) }, firsts(2), at(99));
    expect(judged).toMatchObject({ consecutive_failures: 19, disabled_at: at(1), warnings: [] });
  });
});

const delivery: DeliveryRow = {
  id: 'delivery',
  workspace_id: 'workspace',
  webhook_id: 'webhook',
  event_id: 'event',
  event_type: 'message.created',
  sequence: 1,
  status: 'pending',
  kind: 'scheduled',
  scheduled_attempts: 0,
  resume_at: null,
  failure_counted: false,
  attempts_made: 0,
  attempts: [],
  last_status_code: null,
  created_date: at(0),
  delivered_at: null,
  due_at: at(0),
  claimed_slot: 1,
  concurrency_key: 'workspace host',
  size_bytes: 600,
};
const made: Made = {
  ok: false,
  attempted_at: at(1),
  duration_ms: 7,
  status_code: 500,
  error_type: null,
  response_body: 'no',
  retryAfterMs: 0,
};
const [minute, hour] = [60, 60 * 60];

describe('the schedule', () => {
  const schedule = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

  it.each(schedule.map((seconds, index) => [index + 1, seconds]))(
    'schedules the attempt after attempt %i in %i seconds, plus or minus a tenth',
    (attempt, seconds) => {
      const waits = Array.from({ length: 200 }, () =>
        Number(applyAttempt({ ...delivery, scheduled_attempts: attempt - 1 }, made, at(1)).runAgainInMs),
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(seconds * 900);
      expect(Math.max(...waits)).toBeLessThanOrEqual(seconds * 1100);
      expect(new Set(waits).size).toBeGreaterThan(50);
    },
  );

  it('ends with the eighth attempt', () => {
    const { columns, runAgainInMs } = applyAttempt({ ...delivery, scheduled_attempts: 7 }, made, at(1));
    expect(columns).toMatchObject({ status: 'failed', scheduled_attempts: 8 });
    expect(runAgainInMs).toBeUndefined();
  });

  it.each([
    ['uses a Retry-After that is longer than its own delay', 0, 600_000, [600_000, 600_000]],
    ['ignores a Retry-After that is shorter than its own delay', 1, 1_000, [270_000, 330_000]],
  ])('%s', (_case, scheduled_attempts, retryAfterMs, [least, most]) => {
    const { runAgainInMs } = applyAttempt({ ...delivery, scheduled_attempts }, { ...made, retryAfterMs }, at(1));
    expect(runAgainInMs).toBeGreaterThanOrEqual(least as number);
    expect(runAgainInMs).toBeLessThanOrEqual(most as number);
  });
});

describe('an attempt', () => {
  it('that succeeds ends the delivery and stores no response body', () => {
    const { columns, runAgainInMs } = applyAttempt(
      { ...delivery, scheduled_attempts: 3 },
      { ...made, ok: true, status_code: 204 },
      at(1),
    );
    expect(columns).toMatchObject({
      status: 'delivered',
      delivered_at: at(1),
      last_status_code: 204,
      failure_counted: false,
    });
    expect(columns.attempts).toMatchObject([{ status_code: 204, response_body: null }]);
    expect(runAgainInMs).toBeUndefined();
  });

  it('is kept among the newest 100, and the newest ten keep their response bodies', () => {
    const answered = { ...made, response_body: 'x'.repeat(512) };
    let log = delivery;
    for (let n = 0; n < 130; n += 1)
      log = { ...log, ...applyAttempt({ ...log, kind: 'replay' }, answered, at(1)).columns };
    const bodies = log.attempts.map(({ response_body }) => response_body);
    expect(bodies).toEqual([...Array(90).fill(null), ...Array(10).fill(answered.response_body)]);
    expect(log.attempts.at(0)?.number).toBe(31);
    expect(log.size_bytes).toBeLessThan(25_000);
  });

  it('by hand does not count in the schedule, which resumes where it was', () => {
    const resume_at = at(61);
    const { columns, runAgainInMs } = applyAttempt(
      { ...delivery, kind: 'manual', scheduled_attempts: 2, resume_at },
      made,
      at(1),
    );
    expect(runAgainInMs).toBe(60_000);
    expect(columns).toMatchObject({ status: 'pending', kind: 'scheduled', scheduled_attempts: 2, resume_at: null });
    expect(columns.attempts).toMatchObject([{ kind: 'manual', number: 1 }]);
  });

  it.each([
    ['by hand', 'manual', 8],
    ['of a replay, the last of its schedule', 'replay', 7],
  ] as const)(
    '%s, that fails keeps a delivered delivery delivered and marks any other failed',
    (_case, kind, scheduled_attempts) => {
      const again = { ...delivery, kind, scheduled_attempts };
      expect(applyAttempt(again, made, at(1)).columns.status).toBe('failed');
      expect(applyAttempt({ ...again, delivered_at: at(0) }, made, at(1)).columns).toMatchObject({
        status: 'delivered',
        delivered_at: at(0),
      });
    },
  );

  it('is stored with its own number; the newest hundred are kept', () => {
    let row = delivery;
    for (let n = 0; n < 103; n += 1) row = { ...row, ...applyAttempt(row, made, at(n)).columns };
    expect(row.attempts_made).toBe(103);
    expect(row.attempts).toHaveLength(100);
    expect([row.attempts[0]?.number, row.attempts.at(-1)?.number]).toEqual([4, 103]);
  });
});
