// Background work for webhooks: attempting deliveries and recording the results, sending warning mails, and the
// maintenance jobs.
import { auditService } from '../../core/audit/audit.ts';
import { listResponsibleEmails } from '../../core/identity/members.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { rewrapEach, type Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type AttemptDeps, type DeliveryAttempt, errorOf, sendAttempt } from './attempt.ts';
import type { DeliveryRow, WebhookRow } from './contract.ts';
import { applyAttempt, attemptColumns, deliveryQueue } from './delivery.ts';
import { concurrencyKeyOf } from './fan-out.ts';
import { type AttemptSummary, applyAttempts, type HealthUpdate, turnOffThreshold } from './health.ts';
import { secretLocation } from './signing.ts';
import {
  type DeliveryTarget,
  failDelivery,
  holdDeliveries,
  type LoadedDelivery,
  listTargets,
  loadDeliveries,
} from './store/delivery-queue.ts';
import { deletedLogsDueInMs, removeDeletedLogs, removeOldDeliveries } from './store/removal.ts';
import { listSecretsUnderOldKeys, removeExpiredSecrets, saveRewrapped } from './store/secrets.ts';
import { insertWarnings, type Warning } from './store/warnings.ts';
import { lockWebhooks, recordSuccesses, resyncDueInMs, saveHealth, turnOffUnreadWebhooks } from './store/webhooks.ts';
import { resyncNext } from './webhook.ts';

interface WebhookAttempt extends AttemptSummary {
  readonly webhook_id: string;
  readonly delivery_id: string;
  readonly claims: number;
}

const minuteMs = 60 * 1000;

interface DeliveryMetrics {
  /** `outcome` is `delivered`, a status class such as `status_4xx`, or an error type such as `timeout`. */
  onAttempt(outcome: string, seconds: number): void;
  /** The time from the event until the end of its delivery's first attempt. */
  onFirstAttempt(seconds: number): void;
}

export type DeliveryDeps = AttemptDeps & DeliveryMetrics & { readonly mail: Mail };

export const deliveryQueueOf = (deps: DeliveryDeps): Queue<LoadedDelivery> => ({
  name: deliveryQueue,
  owner: 'webhook_id',
  concurrency: 1_024, // an unresponsive endpoint keeps a delivery busy for 10 s, so the limit is high
  perOwner: 4,
  globalLimits: { concurrencyKey: 'concurrency_key', perKey: 16 },
  asyncCommit: true,
  byHand: {
    retry: 'Redeliver it with redeliverAppDelivery or redeliverAgentDelivery, or replay the webhook.',
    cancel: true,
  },
  timeoutMs: 15_000,
  outcomeColumns: attemptColumns,
  // Applies only to internal errors. The schedule for failing endpoints is in delivery.ts.
  retryMs: retries(1_000, 10_000, minuteMs, 10 * minuteMs, 60 * minuteMs, 60 * minuteMs),
  load: loadDeliveries,
  async run(delivery, { now, signal }) {
    const { target, body } = delivery;
    if (target === undefined) return {};
    if (target.mode === 'pull') return { columns: columnsOf(delivery) }; // queued by the release before; stays pending
    if (target.app_deleted) return { runAgainInMs: 60 * minuteMs }; // until the app is restored or purged
    if (target.disabled_at !== null) return { runAgainInMs: 0, record: (db) => holdIfOff(db, target.id) };
    const concurrency_key = concurrencyKeyOf(target);
    if (concurrency_key !== delivery.concurrency_key)
      return { runAgainInMs: 0, columns: { ...columnsOf(delivery), concurrency_key } }; // the URL has changed
    if (body === undefined) throw new Error('webhook body has expired');
    const { id: delivery_id, event_type, sequence, attempts_made } = delivery;
    const request = { delivery_id, event_type, sequence, attempt: attempts_made + 1, body };
    const attempt = await sendAttempt(deps, target, request, now, signal);
    countAttempt(deps, delivery, attempt);
    const result: WebhookAttempt = {
      webhook_id: target.id,
      delivery_id,
      claims: delivery.claims,
      attempted_at: attempt.attempted_at,
      error: attempt.ok ? null : errorOf(attempt),
      isFirstFailure: !attempt.ok && !delivery.failure_counted,
    };
    return { ...applyAttempt(delivery, attempt, now), result };
  },
  recordTogether: (results: readonly WebhookAttempt[]) =>
    results.every(({ error }) => error === null) ? recordSuccesses(results) : undefined,
  recordAll: (db, results: readonly WebhookAttempt[]) => recordAttempts(db, results, deps.mail),
  onDeadLetter: (db, { id }) => failDelivery(db, id),
});

function countAttempt(metrics: DeliveryMetrics, delivery: DeliveryRow, attempt: DeliveryAttempt): void {
  const { ok, status_code, error_type, attempted_at, duration_ms } = attempt;
  const failure = status_code === null ? (error_type ?? 'failed') : `status_${Math.floor(status_code / 100)}xx`;
  metrics.onAttempt(ok ? 'delivered' : failure, duration_ms / 1000);
  if (delivery.attempts_made > 0) return;
  const delayMs = attempted_at.getTime() - delivery.created_date.getTime();
  metrics.onFirstAttempt((Math.max(0, delayMs) + duration_ms) / 1000);
}

const columnsOf = (delivery: DeliveryRow) =>
  Object.fromEntries(Object.keys(attemptColumns).map((name) => [name, delivery[name as keyof DeliveryRow]]));

/** Checks again under the webhook's lock. If the webhook is on again, the claimed delivery runs again. */
async function holdIfOff(db: Db, webhook_id: string): Promise<void> {
  const [webhook] = await lockWebhooks(db, [webhook_id]);
  if (webhook?.disabled_at != null) await holdDeliveries(db, [webhook_id]);
}

/** Updates the webhooks' health in the transaction that completes the attempts. */
async function recordAttempts(db: Db, results: readonly WebhookAttempt[], mail: Mail): Promise<void> {
  const byWebhook = Map.groupBy(results, (result) => result.webhook_id);
  const now = new Date(Math.max(...results.map((result) => result.attempted_at.getTime())));
  const webhooks = await lockWebhooks(db, [...byWebhook.keys()]);
  const updates = webhooks.map((webhook) => ({
    webhook,
    health: applyAttempts(webhook, byTime(byWebhook.get(webhook.id) ?? []), now),
  }));
  await saveHealth(
    db,
    updates.map(({ webhook, health }) => ({ id: webhook.id, ...health })),
  );
  const off = updates.filter(({ health }) => health.disabled_at !== null);
  if (off.length > 0)
    await holdDeliveries(
      db,
      off.map(({ webhook }) => webhook.id),
    );
  for (const { webhook, health } of updates) await warn(db, webhook, health, mail, now);
}

const byTime = (results: readonly WebhookAttempt[]): WebhookAttempt[] =>
  results.toSorted((a, b) => a.attempted_at.getTime() - b.attempted_at.getTime());

/** Writes an audit entry for each warning, and queues mails to the app's owner and the workspace's owner and admins. */
async function warn(db: Db, webhook: WebhookRow, { warnings }: HealthUpdate, mail: Mail, now: Date): Promise<void> {
  for (const consecutive_failures of warnings) {
    const type = consecutive_failures < turnOffThreshold ? 'webhook.failing' : 'webhook.turned_off';
    await writeWarning(db, webhook, { type, after: { consecutive_failures } }, mail, now);
  }
}

interface Notice {
  readonly type: 'webhook.failing' | 'webhook.turned_off';
  readonly after: { readonly consecutive_failures: number } | { readonly last_read_at: Date | null };
}

async function writeWarning(db: Db, webhook: WebhookRow, { type, after }: Notice, mail: Mail, now: Date) {
  const { workspace_id, id: webhook_id, app_id } = webhook;
  await auditService(db, workspace_id, { type, target: { kind: 'webhook', id: webhook_id }, app_id, after }, now);
  if (!mail.configured) return;
  const emails = await listResponsibleEmails(db, { workspace_id }, app_id);
  const consecutive_failures = 'consecutive_failures' in after ? after.consecutive_failures : 0;
  const warning = (email: string): Warning => ({
    id: newId(),
    workspace_id,
    webhook_id,
    email,
    consecutive_failures,
  });
  await insertWarnings(db, emails.map(warning), now);
}

const unreadMs = 30 * 24 * 60 * minuteMs;

/** Turns off pull webhooks that nobody reads any more, because what waits for their readers is stored. */
const turnOffUnread = (db: Db, mail: Mail, now: Date): Promise<number> =>
  transaction(db, async (db) => {
    const webhooks = await turnOffUnreadWebhooks(db, { since: new Date(now.getTime() - unreadMs), limit: 100 }, now);
    for (const webhook of webhooks) {
      const after = { last_read_at: webhook.last_trigger_time };
      await writeWarning(db, webhook, { type: 'webhook.turned_off', after }, mail, now);
    }
    return webhooks.length;
  });

export const warningQueue = ({ mail, baseUrl }: { mail: Mail; baseUrl: string }): Queue<Warning & QueueRow> => ({
  name: 'webhook_warnings',
  owner: 'webhook_id',
  concurrency: 8,
  perOwner: 2,
  byHand: { retry: true, cancel: true },
  timeoutMs: 30_000,
  retryMs: retries(10_000, minuteMs, 10 * minuteMs, 60 * minuteMs, 6 * 60 * minuteMs),
  async run({ email, webhook_id, consecutive_failures }, { db }) {
    const target = (await listTargets(db, [webhook_id])).get(webhook_id);
    if (target === undefined) return {};
    const { subject, text, endpoint } = describeWarning(target, consecutive_failures);
    const sent = await mail.send({
      to: email,
      subject,
      text: `${text}\n\nWebhook: ${webhook_id}\n${endpoint}Installation: ${baseUrl}\n`,
    });
    if (sent === 'failed') throw new Error('mail server did not accept the warning');
    return {};
  },
});

function describeWarning({ mode, target_url }: DeliveryTarget, failures: number) {
  if (mode === 'pull') return { subject: 'A pull webhook was turned off', text: unreadText, endpoint: '' };
  const { host } = new URL(target_url); // the path and query may contain a secret
  const endpoint = `Endpoint: ${host}\n`;
  return failures < turnOffThreshold
    ? { subject: `A webhook to ${host} is failing`, text: failingText(failures), endpoint }
    : { subject: `A webhook to ${host} was turned off`, text: turnedOffText, endpoint };
}

const failingText = (failures: number): string =>
  `This webhook's last ${failures} deliveries failed. After ${turnOffThreshold} consecutive failures, the webhook is turned off. Its delivery log shows the error for each attempt.`;
const turnedOffText = `This webhook's last ${turnOffThreshold} deliveries failed, so it was turned off. No events are lost: pending deliveries are held for 7 days, and new events are kept as missed deliveries for 30 days.

What to do:
1. Find the error in the webhook's delivery log and fix the endpoint.
2. Turn the webhook back on by updating it with {"enabled": true}. Held deliveries are then sent.
3. Replay the webhook to send the missed deliveries.`;

const unreadText = `Nobody has read this pull webhook for 30 days, so it was turned off. New events are kept as missed deliveries for 30 days, and older deliveries that nobody acknowledged have expired.

What to do:
1. If nothing reads this webhook any more, delete it. That frees what its deliveries take of the workspace's storage.
2. Otherwise turn it back on by updating it with {"enabled": true}, and start its reader. What is still in the log is read then.`;

export interface WebhookJobDeps {
  readonly mail: Mail;
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly secrets: Secrets;
  readonly masterKeyId: string;
}

export const webhookJobs = ({ mail, wake, secrets, masterKeyId }: WebhookJobDeps): Job[] => [
  {
    name: 'resync webhooks turned on or off',
    everyMs: 1_000,
    dueInMs: resyncDueInMs,
    run: (db, now) => resyncNext(db, wake, now),
  },
  { name: 'turn off unread webhooks', everyMs: 60 * minuteMs, run: (db, now) => turnOffUnread(db, mail, now) },
  { name: 'remove expired webhook secrets', everyMs: 60_000, run: removeExpiredSecrets },
  {
    name: 'remove logs of deleted webhooks',
    everyMs: 10_000,
    dueInMs: deletedLogsDueInMs,
    run: removeDeletedLogs,
  },
  { name: 'remove old deliveries', everyMs: 60_000, run: removeOldDeliveries },
  {
    name: 'rewrap webhook secrets',
    everyMs: 60_000,
    run: async (db) =>
      rewrapEach('webhook secrets', await listSecretsUnderOldKeys(db, masterKeyId, 500), (row) => {
        const rewrapped = (column: 'secret' | 'previous_secret') => {
          const sealed = row[column];
          return sealed === null ? null : (secrets.rewrap(sealed, secretLocation(row.id, column)) ?? sealed);
        };
        return saveRewrapped(db, row, rewrapped('secret'), rewrapped('previous_secret'));
      }),
  },
];
