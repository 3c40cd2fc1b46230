// Deliveries: the retry schedule, an attempt's effect, and the operations redeliver and replay
// (docs/api/webhooks.md#deliveries).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { noNotes, unchanged, withNotes } from '../../kit/http/answer.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { DeliveryAttempt } from './attempt.ts';
import type { DeliveryRow, Replay, WebhookRow } from './contract.ts';
import { webhookIsPull } from './pull.ts';
import { queueRedelivery, queueReplay } from './store/delivery-queue.ts';
import { lockWebhook, saveWebhook } from './store/webhooks.ts';

/** The delivery queue's table, and the topic that wakes its workers. */
export const deliveryQueue = 'webhook_deliveries';

const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

// The delays between a delivery's eight attempts.
const retryDelaysMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs];

/** Adds ±10% jitter, so deliveries that failed together are not retried together. */
const withJitter = (ms: number): number => Math.round(ms * (0.9 + Math.random() * 0.2));

// Attempts are stored even if the workspace's quota is full, so their number and their size are bounded.
const maxAttemptsKept = 100;
const maxBodiesKept = 10;

/** The columns that an attempt changes. `runAgainInMs` is undefined once the delivery is finished. */
export interface DeliveryUpdate {
  readonly columns: Pick<
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
    | 'size_bytes'
  >;
  readonly runAgainInMs?: number;
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
  size_bytes: 'integer',
} as const;

/** What a delivery counts towards the workspace's storage, with a first attempt that takes `firstAttempt`. */
const countedBytes = { row: 600, firstAttempt: 200 };

const measureAttempts = (attempts: DeliveryRow['attempts']): number =>
  countedBytes.row + Math.max(0, Buffer.byteLength(JSON.stringify(attempts)) - countedBytes.firstAttempt);

export function applyAttempt(delivery: DeliveryRow, attempt: DeliveryAttempt, now: Date): DeliveryUpdate {
  const { ok, attempted_at, duration_ms, status_code, error_type, response_body } = attempt;
  const number = delivery.attempts_made + 1;
  const entry = {
    number,
    attempted_at: attempted_at.toISOString(),
    duration_ms,
    status_code,
    error_type,
    response_body: ok ? null : response_body,
    kind: delivery.kind,
  };
  const attempts = withoutOldBodies([...delivery.attempts, entry].slice(-maxAttemptsKept));
  const common = {
    kind: 'scheduled',
    scheduled_attempts: delivery.scheduled_attempts + (delivery.kind === 'manual' ? 0 : 1),
    resume_at: null,
    failure_counted: delivery.failure_counted || !ok,
    attempts_made: number,
    attempts,
    size_bytes: measureAttempts(attempts),
    last_status_code: status_code,
    delivered_at: ok ? attempted_at : delivery.delivered_at,
    concurrency_key: delivery.concurrency_key,
  } as const;
  if (ok) return { columns: { ...common, status: 'delivered' } };
  const runAgainInMs = nextDelayMs(delivery, common.scheduled_attempts, attempt.retryAfterMs, now);
  if (runAgainInMs !== undefined) return { columns: { ...common, status: 'pending' }, runAgainInMs };
  // A delivery that has succeeded stays `delivered`, even if a later attempt fails.
  return { columns: { ...common, status: delivery.delivered_at === null ? 'failed' : 'delivered' } };
}

const withoutOldBodies = (attempts: DeliveryRow['attempts']): DeliveryRow['attempts'] =>
  attempts.map((attempt, index) =>
    index < attempts.length - maxBodiesKept ? { ...attempt, response_body: null } : attempt,
  );

function nextDelayMs(
  { kind, resume_at }: DeliveryRow,
  attempts: number,
  retryAfterMs: number,
  now: Date,
): number | undefined {
  // A redelivery is not part of the schedule, which continues afterwards where it left off.
  if (kind === 'manual') return resume_at === null ? undefined : Math.max(0, resume_at.getTime() - now.getTime());
  const delayMs = retryDelaysMs[attempts - 1];
  return delayMs === undefined ? undefined : Math.max(withJitter(delayMs), retryAfterMs);
}

// ---- redeliver and replay

type WebhookAccess = AppAccess & { readonly webhook: WebhookRow };
type Notifier = Pick<WakeUps, 'notify'>;

const webhookOff = () =>
  new Problem('conflict', 'webhook_off', 'The webhook is off. Turn it on first by updating it with {"enabled": true}.');

/** Locks the webhook, so it can't be turned off until the transaction ends. */
async function lockSendingWebhook(db: Db, webhook: WebhookRow): Promise<WebhookRow> {
  if (webhook.mode === 'pull')
    throw webhookIsPull('Nothing is sent to a pull webhook. Read its stream again with a smaller `after_seq`.');
  const locked = await lockWebhook(db, webhook);
  if (locked === undefined) throw notFound('webhook_not_found');
  if (locked.disabled_at !== null) throw webhookOff();
  return locked;
}

export const redeliver = (db: Db, access: WebhookAccess & { delivery: DeliveryRow }, wake: Notifier, now: Date) =>
  transaction(db, async (db) => {
    const { webhook, delivery, app } = access;
    await lockSendingWebhook(db, webhook);
    if (!(await queueRedelivery(db, delivery)))
      throw new Problem(
        'conflict',
        'delivery_in_progress',
        'An attempt to send this delivery is already in progress. Retry after it finishes.',
      );
    const target = { kind: 'webhook', id: webhook.id };
    const after = { delivery_id: delivery.id, sequence: delivery.sequence };
    await audit(db, access, { type: 'webhook.redelivered', target, app_id: app.id, after }, now);
    afterCommit(db, () => wake.notify(deliveryQueue));
    return { delivery_id: delivery.id, queued: true } as const;
  });

const replayIntervalMs = 100;

/**
 * Starts after any replay that is still being sent, so the two replays together send at most ten deliveries per second.
 */
export const replay = (db: Db, access: WebhookAccess, filter: Replay, wake: Notifier, now: Date) =>
  transaction(db, async (db) => {
    const webhook = await lockSendingWebhook(db, access.webhook);
    const startAt = new Date(Math.max(now.getTime(), webhook.replay_until?.getTime() ?? 0));
    const queued = await queueReplay(db, webhook, filter, startAt, replayIntervalMs);
    const answer = { queued: queued.length, first_seq: queued[0] ?? null, last_seq: queued.at(-1) ?? null };
    if (queued.length === 0) return unchanged(answer);
    await saveWebhook(db, webhook, { replay_until: new Date(startAt.getTime() + queued.length * replayIntervalMs) });
    afterCommit(db, () => wake.notify(deliveryQueue));
    const target = { kind: 'webhook', id: webhook.id };
    await audit(db, access, { type: 'webhook.replayed', target, app_id: access.app.id, after: answer }, now);
    return withNotes(answer, noNotes);
  });
