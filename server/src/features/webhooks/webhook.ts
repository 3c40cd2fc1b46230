// The operations on webhooks: create, change, turn on, turn off, test and delete (docs/api/webhooks.md).
import { isDeepStrictEqual } from 'node:util';
import { audit, redacted } from '../../core/audit/audit.ts';
import type { AuditType } from '../../core/audit/types.ts';
import type { AppAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { limitReached, notFound } from '../../kit/problem.ts';
import type { Secrets } from '../../kit/secrets.ts';
import type { Db } from '../../tables.ts';
import { type AttemptDeps, sendAttempt } from './attempt.ts';
import {
  type NewWebhook,
  noTarget,
  presentWebhook,
  type Scope,
  type WebhookChange,
  type WebhookRow,
  webhookEvents,
} from './contract.ts';
import { deliveryQueue } from './delivery.ts';
import { webhookIsPull } from './pull.ts';
import { newSecret, overlapMs, secretLocation } from './signing.ts';
import { countDeliveries } from './store/deliveries.ts';
import { holdDeliveries, resumeDeliveries } from './store/delivery-queue.ts';
import {
  insertWebhook,
  listWebhooks,
  lockNextPendingResync,
  lockWebhook,
  removeWebhook,
  saveWebhook,
  turnOffWebhooksOf,
} from './store/webhooks.ts';

export type WebhookAccess = AppAccess & { readonly webhook: WebhookRow };

export const maxWebhooks = 20;

interface WebhookDeps {
  readonly secrets: Secrets;
  readonly baseUrl: string;
}

export function createWebhook(
  db: Db,
  { secrets, baseUrl }: WebhookDeps,
  access: AppAccess,
  { scope, input }: { readonly scope: Scope; readonly input: NewWebhook },
  now: Date,
) {
  const { app } = access;
  return transaction(db, async (db) => {
    await takeAdvisoryLock(db, `webhooks of ${app.id}`);
    if ((await listWebhooks(db, access, scope)).length >= maxWebhooks)
      throw limitReached(
        maxWebhooks,
        'webhooks',
        `An app or agent can have at most ${maxWebhooks} webhooks. Delete one first.`,
      );
    const id = newId();
    const secret = input.generate_secret === false ? undefined : newSecret();
    const webhook: WebhookRow = {
      workspace_id: app.workspace_id,
      id,
      app_id: app.id,
      scope,
      mode: input.mode,
      target_url: input.target_url ?? noTarget,
      events: input.events,
      entity_names: input.entity_names ?? null,
      description: input.description ?? null,
      secret: secret === undefined ? null : secrets.seal(secret, secretLocation(id, 'secret')),
      previous_secret: null,
      previous_secret_expires_at: null,
      last_trigger_time: null,
      last_error: null,
      consecutive_failures: 0,
      disabled_at: null,
      replay_until: null,
      resync_pending: false,
      created_by_id: access.caller.user_id,
      created_date: now,
      updated_date: now,
    };
    await insertWebhook(db, webhook);
    const target = { kind: 'webhook', id };
    await audit(db, access, { type: 'webhook.created', target, app_id: app.id, after: auditedFields(webhook) }, now);
    return presentWebhook(webhook, baseUrl, secret);
  });
}

/** Applies either the whole body or nothing. Omitted fields keep their value. */
export function changeWebhook(
  db: Db,
  { secrets, baseUrl, wake }: WebhookDeps & { readonly wake: Pick<WakeUps, 'notify'> },
  access: WebhookAccess,
  input: WebhookChange,
  now: Date,
) {
  return transaction(db, async (db) => {
    const before = await lockWebhook(db, access.webhook);
    if (before === undefined) throw notFound('webhook_not_found');
    if (input.target_url !== undefined && before.mode === 'pull')
      throw webhookIsPull('A pull webhook sends nothing, so it has no URL to change. Create a push webhook instead.');
    const secret = input.signing === 'rotate' ? newSecret() : undefined;
    const change = {
      ...settingsChange(input, before),
      ...switchChange(input, before, now),
      ...signingChange(input, before, secret, secrets, now),
    };
    if (Object.keys(change).length === 0) {
      const headers = input.enabled ? await countWaiting(db, before, now) : {};
      return withNotes(presentWebhook(before, baseUrl), { changed: false, headers });
    }
    const saved = { ...change, updated_date: now };
    await saveWebhook(db, before, saved);
    const webhook: WebhookRow = { ...before, ...saved };
    const target = { kind: 'webhook', id: webhook.id };
    const [was, is] = [
      auditedFields(before),
      { ...auditedFields(webhook), ...('secret' in change && { secret: redacted }) },
    ];
    for (const type of auditTypes(input, before))
      await audit(db, access, { type, target, app_id: webhook.app_id, before: was, after: is }, now);
    const shown = presentWebhook(webhook, baseUrl, secret);
    if (input.enabled === undefined) return shown;
    const headers = input.enabled ? await countWaiting(db, webhook, now) : {};
    await resyncDeliveries(db, webhook, now);
    afterCommit(db, () => wake.notify(deliveryQueue));
    return withNotes(shown, { headers });
  });
}

/** Counts the held deliveries that will be resumed, and the missed deliveries that a replay could send. */
const countWaiting = async (db: Db, webhook: WebhookRow, now: Date) => ({
  'x-webhook-held': String(await countDeliveries(db, webhook, 'held', oldestHeld(now))),
  'x-webhook-missed': String(await countDeliveries(db, webhook, 'missed', new Date(0))),
});

/**
 * Turning a webhook on or off and rotating its secret have their own audit types. Other changes are `webhook.updated`.
 */
function auditTypes({ enabled, signing }: WebhookChange, before: WebhookRow): AuditType[] {
  const isOff = before.disabled_at !== null;
  const types: AuditType[] = [];
  if (signing === 'rotate') types.push('webhook.secret_rotated');
  if (enabled === true && isOff) types.push('webhook.turned_on');
  if (enabled === false && !isOff) types.push('webhook.turned_off');
  return types.length > 0 ? types : ['webhook.updated'];
}

/**
 * Turns off the webhooks that a user created in the workspace. Returns how many of them were on. Their waiting
 * deliveries are no longer attempted, and a job holds them.
 */
export async function pauseWebhooksOf(db: Db, access: WorkspaceAccess, user_id: string, now: Date): Promise<number> {
  const paused = await turnOffWebhooksOf(db, access, user_id, now);
  for (const webhook of paused) {
    const target = { kind: 'webhook', id: webhook.id };
    const [before, after] = [{ ...webhook, disabled_at: null }, webhook].map(auditedFields);
    await audit(db, access, { type: 'webhook.turned_off', target, app_id: webhook.app_id, before, after }, now);
  }
  return paused.length;
}

const heldMs = 7 * 24 * 60 * 60 * 1000;
const oldestHeld = (now: Date): Date => new Date(now.getTime() - heldMs);

/**
 * Brings a batch of deliveries in line with the webhook: resumes held deliveries if it is on, and holds queued
 * deliveries if it is off.
 */
async function resyncDeliveries(db: Db, webhook: WebhookRow, now: Date): Promise<void> {
  const hasMore =
    webhook.disabled_at === null
      ? await resumeDeliveries(db, webhook, oldestHeld(now))
      : await holdDeliveries(db, [webhook.id]);
  if (webhook.resync_pending !== hasMore) await saveWebhook(db, webhook, { resync_pending: hasMore });
}

/** Resyncs a batch of deliveries for a webhook that was turned on or off. Returns 0 if no webhook needs it. */
export const resyncNext = (db: Db, wake: Pick<WakeUps, 'notify'>, now: Date): Promise<number> =>
  transaction(db, async (db) => {
    const webhook = await lockNextPendingResync(db);
    if (webhook === undefined) return 0;
    await resyncDeliveries(db, webhook, now);
    afterCommit(db, () => wake.notify(deliveryQueue));
    return 1;
  });

/** Returns the settings that have changed. */
function settingsChange({ target_url, events, description, entity_names }: WebhookChange, before: WebhookRow) {
  return {
    ...(target_url !== undefined && target_url !== before.target_url && { target_url }),
    ...(events !== undefined && !isDeepStrictEqual(events, before.events) && { events }),
    ...(description !== undefined && description !== before.description && { description }),
    ...(entity_names !== undefined && !isDeepStrictEqual(entity_names, before.entity_names) && { entity_names }),
  };
}

/** Turning on a webhook that is already on resets its failure count. */
function switchChange({ enabled }: WebhookChange, before: WebhookRow, now: Date) {
  const isOn = before.disabled_at === null;
  if (enabled === true && (!isOn || before.consecutive_failures > 0))
    return { disabled_at: null, consecutive_failures: 0, replay_until: null, resync_pending: true };
  return enabled === false && isOn ? { disabled_at: now, resync_pending: true } : {};
}

/**
 * After a rotation, the previous secret is still used for signing for 24 hours. `disable` drops both secrets
 * immediately.
 */
function signingChange(
  { signing }: WebhookChange,
  before: WebhookRow,
  secret: string | undefined,
  secrets: Secrets,
  now: Date,
) {
  if (signing === 'disable') {
    const isUnsigned = before.secret === null && before.previous_secret === null;
    return isUnsigned ? {} : { secret: null, previous_secret: null, previous_secret_expires_at: null };
  }
  if (secret === undefined) return {};
  const previous = openOrNull(before, secrets);
  return {
    secret: secrets.seal(secret, secretLocation(before.id, 'secret')),
    previous_secret: previous === null ? null : secrets.seal(previous, secretLocation(before.id, 'previous_secret')),
    previous_secret_expires_at: previous === null ? null : new Date(now.getTime() + overlapMs),
  };
}

/** Returns null if the secret can no longer be opened, so it can still be rotated. */
function openOrNull({ id, secret }: WebhookRow, secrets: Secrets): string | null {
  try {
    return secret === null ? null : secrets.open(secret, secretLocation(id, 'secret'));
  } catch {
    return null;
  }
}

/** The fields recorded in the audit log, which never include the secret. */
const auditedFields = ({ mode, target_url, events, entity_names, description, disabled_at, secret }: WebhookRow) => ({
  mode,
  ...(mode === 'push' && { target_url }),
  events,
  entity_names,
  description,
  enabled: disabled_at === null,
  has_secret: secret !== null,
});

/** No events are delivered after this. A job removes the delivery log. */
export const deleteWebhook = (db: Db, access: WebhookAccess, now: Date) =>
  transaction(db, async (db) => {
    const { webhook } = access;
    await removeWebhook(db, webhook);
    const target = { kind: 'webhook', id: webhook.id };
    const entry = { type: 'webhook.deleted' as const, target, app_id: webhook.app_id, before: auditedFields(webhook) };
    await audit(db, access, entry, now);
    return { success: true } as const;
  });

/** Sends one sample event immediately, even while the webhook is off. The webhook itself does not change. */
export async function testWebhook({ webhook }: WebhookAccess, deps: AttemptDeps, now: Date) {
  if (webhook.mode === 'pull')
    throw webhookIsPull('Nothing is sent to a pull webhook. To test its reader, cause an event that it receives.');
  const delivery_id = newId();
  const event_type = webhook.scope === 'agent' ? 'message.completed' : (webhook.events[0] ?? webhookEvents.app[0]);
  const body = JSON.stringify(sampleEvent(webhook, event_type, now));
  const request = { delivery_id, event_type, attempt: 1, body };
  const { ok, status_code, error_type, response_body, duration_ms } = await sendAttempt(deps, webhook, request, now);
  return { ok, delivery_id, status_code, error_type, response_body, duration_ms };
}

function sampleEvent(webhook: WebhookRow, type: string, now: Date) {
  const at = now.toISOString();
  const common = { id: newId(), type, created_at: at };
  if (webhook.scope === 'app') {
    const entity_name = webhook.entity_names?.[0] ?? 'Example';
    const rest = { old_data: null, changed_fields: [], actor: null, depth: 0, payload_too_large: false };
    return { ...common, app_id: webhook.app_id, entity_name, entity_id: newId(), data: { test: true }, ...rest };
  }
  const message = {
    id: newId(),
    role: 'assistant',
    content: 'This is a test.',
    file_urls: [],
    created_date: at,
    updated_date: at,
  };
  const user = { id: newId(), email: 'test@example.com' };
  return { ...common, agent_id: webhook.app_id, conversation_id: newId(), data: { test: true, message, user } };
}
