// Owns deliveries: the schedule of their attempts, what an attempt makes of one, and those asked for by hand
// (docs/contract.md §4.3, §4.5).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { DeliveryAttempt } from './attempt.ts';
import type { DeliveryRow, Replay, WebhookRow } from './contract.ts';
import { holdWebhook, queueNow, queueReplay, saveWebhook } from './store.ts';

/** The queue of deliveries, and what wakes it. */
export const deliveryQueue = 'webhook_deliveries';

const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

// The waits between eight attempts.
const retryDelaysMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs];

/** Within a tenth of the schedule's wait, so that what failed together does not come back together. */
const withJitter = (ms: number): number => Math.round(ms * (0.9 + Math.random() * 0.2));

const maxAttemptsKept = 100;

/** The columns an attempt changes, and when the next one is made. */
export interface DeliveryUpdate {
  readonly set: Pick<
    DeliveryRow,
    | 'status'
    | 'kind'
    | 'scheduled_attempts'
    | 'resume_at'
    | 'failure_counted'
    | 'attempts_made'
    | 'attempts'
    | 'last_status_code'
    | 'delivered_at'
    | 'concurrency_key'
  >;
  readonly againInMs?: number;
}

export const attemptColumns = {
  status: 'text',
  kind: 'text',
  scheduled_attempts: 'integer',
  resume_at: 'timestamptz',
  failure_counted: 'boolean',
  attempts_made: 'integer',
  attempts: 'jsonb',
  last_status_code: 'integer',
  delivered_at: 'timestamptz',
  concurrency_key: 'text',
} as const;

export function applyAttempt(delivery: DeliveryRow, made: DeliveryAttempt, now: Date): DeliveryUpdate {
  const { ok, attempted_at, duration_ms, status_code, error_type, response_body } = made;
  const number = delivery.attempts_made + 1;
  const attempt = {
    number,
    attempted_at: attempted_at.toISOString(),
    duration_ms,
    status_code,
    error_type,
    response_body: ok ? null : response_body,
    kind: delivery.kind,
  };
  const common = {
    kind: 'scheduled',
    scheduled_attempts: delivery.scheduled_attempts + (delivery.kind === 'manual' ? 0 : 1),
    resume_at: null,
    failure_counted: delivery.failure_counted || !ok,
    attempts_made: number,
    attempts: [...delivery.attempts, attempt].slice(-maxAttemptsKept),
    last_status_code: status_code,
    delivered_at: ok ? attempted_at : delivery.delivered_at,
    concurrency_key: delivery.concurrency_key,
  } as const;
  if (ok) return { set: { ...common, status: 'delivered' } };
  const againInMs = nextDelayMs(delivery, common.scheduled_attempts, made.retryAfterMs, now);
  if (againInMs !== undefined) return { set: { ...common, status: 'pending' }, againInMs };
  // What once arrived has arrived, whatever became of sending it again.
  return { set: { ...common, status: delivery.delivered_at === null ? 'failed' : 'delivered' } };
}

function nextDelayMs(
  { kind, resume_at }: DeliveryRow,
  attempts: number,
  retryAfterMs: number,
  now: Date,
): number | undefined {
  // Outside of the schedule: it goes on as if nothing had been.
  if (kind === 'manual') return resume_at === null ? undefined : Math.max(0, resume_at.getTime() - now.getTime());
  const wait = retryDelaysMs[attempts - 1];
  return wait === undefined ? undefined : Math.max(withJitter(wait), retryAfterMs);
}

// ---- by hand

type WebhookAccess = AppAccess & { readonly webhook: WebhookRow };
type Notifier = Pick<WakeUps, 'notify'>;

const webhookOff = () =>
  new Problem('conflict', 'webhook_off', 'This webhook is off. Turn it on first: {"enabled": true}.');

/** Holds the webhook's row, so that it is not turned off meanwhile. */
async function lockEnabledWebhook(db: Db, webhook: WebhookRow): Promise<WebhookRow> {
  const held = await holdWebhook(db, webhook);
  if (held === undefined) throw notFound('webhook_not_found');
  if (held.disabled_at !== null) throw webhookOff();
  return held;
}

export const redeliver = (db: Db, access: WebhookAccess & { delivery: DeliveryRow }, wake: Notifier, now: Date) =>
  transaction(db, async (db) => {
    const { webhook, delivery, app } = access;
    await lockEnabledWebhook(db, webhook);
    if (!(await queueNow(db, delivery)))
      throw new Problem('conflict', 'delivery_in_progress', 'An attempt of this delivery is running.');
    const target = { kind: 'webhook', id: webhook.id };
    const after = { delivery_id: delivery.id, sequence: delivery.sequence };
    await audit(db, access, { type: 'webhook.redelivered', target, app_id: app.id, after }, now);
    afterCommit(db, () => wake.notify(deliveryQueue));
    return { delivery_id: delivery.id, queued: true } as const;
  });

const replayIntervalMs = 100;

/** Begins behind a replay that is still going on, so that together they stay within ten a second. */
export const replay = (db: Db, access: WebhookAccess, asked: Replay, wake: Notifier, now: Date) =>
  transaction(db, async (db) => {
    const webhook = await lockEnabledWebhook(db, access.webhook);
    const from = new Date(Math.max(now.getTime(), webhook.replay_until?.getTime() ?? 0));
    const queued = await queueReplay(db, webhook, asked, from, replayIntervalMs);
    if (queued.length > 0) {
      await saveWebhook(db, webhook, { replay_until: new Date(from.getTime() + queued.length * replayIntervalMs) });
      afterCommit(db, () => wake.notify(deliveryQueue));
    }
    const answer = { queued: queued.length, first_seq: queued[0] ?? null, last_seq: queued.at(-1) ?? null };
    const target = { kind: 'webhook', id: webhook.id };
    await audit(db, access, { type: 'webhook.replayed', target, app_id: access.app.id, after: answer }, now);
    return answer;
  });
