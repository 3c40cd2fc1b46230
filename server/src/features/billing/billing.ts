// A workspace's billing: whether the payment provider has its card, and the page where its owner enters one.
import { audit } from '../../core/audit/audit.ts';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { getWorkspaceRow } from '../../core/identity/workspaces.ts';
import type { CardSetup, Payments } from '../../gateways/payments/index.ts';
import { type Answer, unchanged, withNotes } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { BillingSetup } from './contract.ts';
import { type CustomerRow, findCustomer, forgetCustomer, recordCustomer, saveCustomer } from './store.ts';

export interface BillingDeps {
  readonly payments: Payments;
  /** The URL that the provider redirects users back to. */
  readonly returnUrl: string;
}

export async function getBilling(db: Db, { payments }: BillingDeps, access: WorkspaceAccess) {
  const { billing_hold, billing_hold_reason } = await getWorkspaceRow(db, access);
  const hold = { billing_hold, billing_hold_reason };
  if (payments.mode === 'external')
    return {
      mode: payments.mode,
      has_payment_method: true,
      payment_provider_unavailable: false,
      payment_method: null,
      ...hold,
    };
  const customerId = (await findCustomer(db, access))?.provider_customer_id ?? null;
  const card = customerId === null ? ({ outcome: 'read', result: null } as const) : await payments.readCard(customerId);
  const payment_method = card.outcome === 'read' ? card.result : null;
  return {
    mode: payments.mode,
    has_payment_method: payment_method !== null,
    payment_provider_unavailable: card.outcome !== 'read',
    payment_method,
    ...hold,
  };
}

export interface RequestedSetup extends CardSetup {
  readonly customerId: string;
}

/**
 * Requests a card setup page from the provider. Runs before the transaction, because it needs the network. Returns
 * undefined if there is no provider.
 */
export async function requestCardSetup(
  db: Db,
  { payments, returnUrl }: BillingDeps,
  access: WorkspaceAccess,
  now: Date,
): Promise<RequestedSetup | undefined> {
  if (payments.mode === 'external') return undefined;
  // Unused pages cost nothing, so a lost response does no harm.
  const start = async (customerId: string) => ({
    customerId,
    ...(await payments.startCardSetup(customerId, returnUrl)),
  });
  let setup = await start(await ensureCustomer(db, payments, access, now));
  if (setup.outcome === 'refused' && setup.code === 'resource_missing') {
    await forgetCustomer(db, access, setup.customerId, { request_key: newId(), requested_at: now });
    setup = await start(await ensureCustomer(db, payments, access, now));
  }
  if (setup.outcome !== 'applied') throw providerUnavailable();
  return { ...setup.result, customerId: setup.customerId };
}

export async function startBillingSetup(
  db: Db,
  access: WorkspaceAccess,
  setup: RequestedSetup | undefined,
  now: Date,
): Promise<Answer<BillingSetup>> {
  if (setup === undefined) return unchanged({ url: null, expires_at: null });
  const target = { kind: 'workspace', id: access.workspace_id };
  // After the workspace is purged, only the audit log shows which customer belonged to it.
  const after = { provider_customer_id: setup.customerId };
  await audit(db, access, { type: 'workspace.billing_setup_started', target, after }, now);
  return withNotes({ url: setup.url, expires_at: setup.expiresAt.toISOString() }, {});
}

const keyMs = 23 * 60 * 60 * 1000;

async function ensureCustomer(db: Db, payments: Payments, access: WorkspaceAccess, now: Date): Promise<string> {
  const { workspace_id } = access;
  await recordCustomer(db, { workspace_id, request_key: newId(), requested_at: now });
  const recorded = await getCustomer(db, access);
  const isForgotten = now.getTime() - recorded.requested_at.getTime() >= keyMs;
  const row =
    recorded.provider_customer_id === null && isForgotten
      ? await renewKey(db, payments, access, recorded, now)
      : recorded;
  if (row.provider_customer_id !== null) return row.provider_customer_id;
  const created = await payments.createCustomer(workspace_id, row.request_key);
  // With the same key, the provider would repeat its error for a day.
  if (created.outcome === 'unknown' && created.isAnswered) await renewKey(db, payments, access, row, now);
  if (created.outcome === 'applied') await saveCustomer(db, row, { provider_customer_id: created.result.customerId });
  const { provider_customer_id } = await getCustomer(db, access);
  if (provider_customer_id === null) throw providerUnavailable();
  return provider_customer_id;
}

/**
 * Issues a new key, because the provider forgets a key after a day. First looks for the workspace's customer, which may
 * have been created although the response was lost.
 */
async function renewKey(
  db: Db,
  payments: Payments,
  access: WorkspaceAccess,
  row: CustomerRow,
  now: Date,
): Promise<CustomerRow> {
  const requestedAt = row.requested_at.getTime();
  const [from, to] = [new Date(requestedAt - clockSkewMs), new Date(requestedAt + keyMs + clockSkewMs)];
  const found = await payments.findCustomers(access.workspace_id, from, to);
  if (found.outcome !== 'read') throw providerUnavailable();
  const [oldest = null] = found.result;
  await saveCustomer(db, row, { request_key: newId(), requested_at: now, provider_customer_id: oldest });
  return getCustomer(db, access);
}

const clockSkewMs = 10 * 60 * 1000;

async function getCustomer(db: Db, access: WorkspaceAccess): Promise<CustomerRow> {
  const row = await findCustomer(db, access);
  if (row === undefined) throw new Error('the customer row does not exist');
  return row;
}

const providerUnavailable = () =>
  new Problem(
    'unavailable',
    'payment_provider_unavailable',
    'The payment provider did not respond or rejected the request. Nothing was charged. Try again later, or contact the operator.',
    { headers: { 'retry-after': '30' } },
  );
