// What webhooks do later: deliveries are attempted and what came of them is noted on their webhook; people are warned of a
// webhook that fails; what is old or without a webhook is removed.
import { auditService } from '../../core/audit/audit.ts';
import { listResponsibleEmails } from '../../core/identity/members.ts';
import type { Mail } from '../../gateways/mail/index.ts';
import { type Queue, type QueueRow, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { newId } from '../../kit/ids.ts';
import { rewrapEach, type Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type AttemptDeps, errorOf, sendAttempt } from './attempt.ts';
import type { DeliveryRow, WebhookRow } from './contract.ts';
import { applyAttempt, attemptColumns, deliveryQueue } from './delivery.ts';
import { concurrencyKeyOf } from './fan-out.ts';
import { type AttemptSummary, applyAttempts, type HealthUpdate, turnOffThreshold } from './health.ts';
import { secretLocation } from './signing.ts';
import {
  failDelivery,
  forgetOld,
  forgetOldSecrets,
  holdDeliveries,
  holdWebhooks,
  insertWarnings,
  listBodies,
  listSealedElsewhere,
  listTargets,
  saveSealed,
  saveStandings,
  sweepDeleted,
  type Target,
  type Warning,
} from './store.ts';
import { resyncNext } from './webhook.ts';

interface LoadedDelivery extends QueueRow, DeliveryRow {
  readonly due_at: Date | null;
  readonly claimed_slot: number | null;
  /** Undefined when the webhook is gone. */
  readonly target?: Target;
  readonly body?: string;
}

/** What an attempt means for its webhook. */
interface WebhookAttempt extends AttemptSummary {
  readonly webhook_id: string;
}

const minuteMs = 60 * 1000;

export const deliveryQueueOf = (deps: AttemptDeps & { mail: Mail }): Queue<LoadedDelivery> => ({
  name: deliveryQueue,
  owner: 'webhook_id',
  concurrency: 1_024, // endpoints that hang hold their places for ten seconds: there must be some for others
  perOwner: 4,
  globalLimits: { concurrencyKey: 'concurrency_key', perKey: 16 },
  asyncCommit: true,
  timeoutMs: 15_000,
  outcomeColumns: attemptColumns,
  // Only what goes wrong on our side: an endpoint that fails has the schedule of its delivery.
  retryMs: retries(1_000, 10_000, minuteMs, 10 * minuteMs, 60 * minuteMs, 60 * minuteMs),
  async load(db, rows) {
    const [targets, bodies] = await Promise.all([
      listTargets(db, [...new Set(rows.map((row) => row.webhook_id))]),
      listBodies(db, [...new Set(rows.map((row) => row.event_id))]),
    ]);
    return rows.map((row) => ({ ...row, target: targets.get(row.webhook_id), body: bodies.get(row.event_id) }));
  },
  async run(delivery, { now, signal }) {
    const { target, body } = delivery;
    if (target === undefined) return {};
    if (target.app_deleted) return { runAgainInMs: 60 * minuteMs }; // until it is restored, or gone for good
    if (target.disabled_at !== null) return { runAgainInMs: 0, record: (db) => holdIfOff(db, target.id) };
    const concurrency_key = concurrencyKeyOf(target);
    if (concurrency_key !== delivery.concurrency_key)
      return { runAgainInMs: 0, columns: { ...columnsOf(delivery), concurrency_key } }; // its URL was changed
    if (body === undefined) throw new Error('what was to be told is no longer kept');
    const { id: delivery_id, event_type, sequence, attempts_made } = delivery;
    const sending = { delivery_id, event_type, sequence, attempt: attempts_made + 1, body };
    const made = await sendAttempt(deps, target, sending, now, signal);
    const { set, againInMs } = applyAttempt(delivery, made, now);
    const error = made.ok ? null : errorOf(made);
    const counts = !made.ok && !delivery.failure_counted;
    const result: WebhookAttempt = {
      webhook_id: target.id,
      attempted_at: made.attempted_at,
      error,
      isFirstFailure: counts,
    };
    return { columns: set, runAgainInMs: againInMs, result };
  },
  recordAll: (db, results: readonly WebhookAttempt[]) => recordAttempts(db, results, deps.mail),
  onDeadLetter: (db, { id }) => failDelivery(db, id),
});

const columnsOf = (delivery: DeliveryRow) =>
  Object.fromEntries(Object.keys(attemptColumns).map((name) => [name, delivery[name as keyof DeliveryRow]]));

/** Under the webhook's lock: if it was turned on meanwhile, what goes on has gone on already, and this does too. */
async function holdIfOff(db: Db, webhook_id: string): Promise<void> {
  const [webhook] = await holdWebhooks(db, [webhook_id]);
  if (webhook?.disabled_at != null) await holdDeliveries(db, [webhook_id]);
}

/** Notes attempts that ended about the same time on their webhooks; warns of those that fail, and turns some off. */
async function recordAttempts(db: Db, results: readonly WebhookAttempt[], mail: Mail): Promise<void> {
  const byWebhook = Map.groupBy(results, (result) => result.webhook_id);
  const now = new Date(Math.max(...results.map((result) => result.attempted_at.getTime())));
  const webhooks = await holdWebhooks(db, [...byWebhook.keys()]);
  const judged = webhooks.map((webhook) => ({
    webhook,
    standing: applyAttempts(webhook, inOrder(byWebhook.get(webhook.id) ?? []), now),
  }));
  await saveStandings(
    db,
    judged.map(({ webhook, standing }) => ({ id: webhook.id, ...standing })),
  );
  const off = judged.filter(({ standing }) => standing.disabled_at !== null);
  if (off.length > 0)
    await holdDeliveries(
      db,
      off.map(({ webhook }) => webhook.id),
    );
  for (const { webhook, standing } of judged) await warn(db, webhook, standing, mail, now);
}

const inOrder = (results: readonly WebhookAttempt[]): WebhookAttempt[] =>
  results.toSorted((a, b) => a.attempted_at.getTime() - b.attempted_at.getTime());

async function warn(db: Db, webhook: WebhookRow, { warnings }: HealthUpdate, mail: Mail, now: Date): Promise<void> {
  const { workspace_id, id: webhook_id, app_id } = webhook;
  for (const consecutive_failures of warnings) {
    const type = consecutive_failures < turnOffThreshold ? 'webhook.failing' : 'webhook.turned_off';
    const target = { kind: 'webhook', id: webhook_id };
    await auditService(db, workspace_id, { type, target, app_id, after: { consecutive_failures } }, now);
    if (!mail.configured) continue;
    const emails = await listResponsibleEmails(db, { workspace_id }, app_id);
    const warning = (email: string): Warning => ({
      id: newId(),
      workspace_id,
      webhook_id,
      email,
      consecutive_failures,
    });
    await insertWarnings(db, emails.map(warning), now);
  }
}

export const warningQueue = ({ mail, baseUrl }: { mail: Mail; baseUrl: string }): Queue<Warning & QueueRow> => ({
  name: 'webhook_warnings',
  owner: 'webhook_id',
  concurrency: 8,
  perOwner: 2,
  timeoutMs: 30_000,
  retryMs: retries(10_000, minuteMs, 10 * minuteMs, 60 * minuteMs, 6 * 60 * minuteMs),
  async run({ email, webhook_id, consecutive_failures }, { db }) {
    const target = (await listTargets(db, [webhook_id])).get(webhook_id);
    if (target === undefined) return {};
    const { host } = new URL(target.target_url); // the rest of a URL may be a secret
    const isOff = consecutive_failures >= turnOffThreshold;
    const sent = await mail.send({
      to: email,
      subject: isOff ? `A webhook to ${host} was turned off` : `A webhook to ${host} is failing`,
      text: `${isOff ? wordsOff : wordsFailing(consecutive_failures)}\n\nWebhook ${webhook_id}, to ${host}, at ${baseUrl}.\nIts delivery log says what went wrong.\n`,
    });
    if (sent === 'failed') throw new Error('the mail server did not take it');
    return {};
  },
});

const wordsFailing = (failures: number): string =>
  `${failures} deliveries in a row have failed. At ${turnOffThreshold} the webhook is turned off.`;
const wordsOff = `${turnOffThreshold} deliveries in a row have failed, so the webhook was turned off. Nothing is lost: what waits is held for 7 days, what happens from now on is kept as missed for 30. Turn it on again ({"enabled": true}) once the endpoint works, and replay what it missed.`;

export interface WebhookJobDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
  readonly secrets: Secrets;
  readonly masterKeyId: string;
}

export const webhookJobs = ({ wake, secrets, masterKeyId }: WebhookJobDeps): Job[] => [
  { name: 'settle webhooks turned on or off', everyMs: 1_000, run: (db, now) => resyncNext(db, wake, now) },
  { name: 'forget old webhook secrets', everyMs: 60_000, run: forgetOldSecrets },
  { name: 'remove logs of deleted webhooks', everyMs: 10_000, run: sweepDeleted },
  { name: 'forget old deliveries', everyMs: 60_000, run: forgetOld },
  {
    name: 'rewrap webhook secrets',
    everyMs: 60_000,
    run: async (db) =>
      rewrapEach('webhook secrets', await listSealedElsewhere(db, masterKeyId, 500), (row) => {
        const moved = (column: 'secret' | 'previous_secret') => {
          const sealed = row[column];
          return sealed === null ? null : (secrets.rewrap(sealed, secretLocation(row.id, column)) ?? sealed);
        };
        return saveSealed(db, row, moved('secret'), moved('previous_secret'));
      }),
  },
];
