// The calls to Stripe's API, through Stripe's own library.
import Stripe from 'stripe';
import type { Card, PaymentChange, PaymentReading, PaymentSettings, Payments } from './provider.ts';

const unavailable = { outcome: 'unavailable' } as const;

export function openStripe(secretKey: string, { url, timeoutMs = 10_000, onFailure }: PaymentSettings): Payments {
  const { hostname, port, protocol } = new URL(url);
  const stripe = new Stripe(secretKey, {
    host: hostname,
    port: port || (protocol === 'https:' ? 443 : 80),
    protocol: protocol === 'https:' ? 'https' : 'http',
    timeout: timeoutMs,
    // Callers retry with their own key. The library still retries a request once, with the same key, if its connection
    // was closed.
    maxNetworkRetries: 0,
    telemetry: false,
  });
  const { change, read } = createCalls(onFailure);

  return {
    mode: 'provider',
    createCustomer: (workspaceId, idempotencyKey) =>
      change(async () => {
        const { id } = await stripe.customers.create(
          { metadata: { [workspaceField]: workspaceId } },
          { idempotencyKey },
        );
        return { customerId: id };
      }),
    // Does not use the provider's search, because new customers appear there only after a delay.
    findCustomers: (workspaceId, from, to) =>
      read(async () => {
        const created = { gte: toSeconds(from), lte: toSeconds(to) };
        const all = await stripe.customers.list({ created, limit: 100 }).autoPagingToArray({ limit: maxListed });
        if (all.length === maxListed) throw new Error('too many customers to list');
        return all
          .filter(({ metadata }) => metadata[workspaceField] === workspaceId)
          .toSorted((a, b) => a.created - b.created)
          .map(({ id }) => id);
      }),
    startCardSetup: (customer, returnUrl) =>
      change(async () => {
        const session = await stripe.checkout.sessions.create({
          mode: 'setup',
          customer,
          allowed_payment_method_types: ['card'],
          success_url: returnUrl,
          cancel_url: returnUrl,
        });
        if (session.url === null) throw new Error('the new checkout session has no URL');
        return { url: session.url, expiresAt: new Date(session.expires_at * 1000) };
      }),
    readCard: (customerId) =>
      read(async () => {
        const customer = await stripe.customers
          .retrieve(customerId, { expand: ['invoice_settings.default_payment_method'] })
          .catch(nullIfMissing);
        if (customer === null || customer.deleted) return null;
        const chosen = customer.invoice_settings.default_payment_method;
        if (chosen !== null && typeof chosen === 'object' && chosen.card) return toCard(chosen.card);
        // A new card is not the default until the customer chooses it, so the newest card is used.
        const { data } = await stripe.customers.listPaymentMethods(customerId, { type: 'card', limit: 1 });
        return data[0]?.card ? toCard(data[0].card) : null;
      }),
  };
}

const workspaceField = 'plinth_workspace';
const maxListed = 10_000;

const toSeconds = (time: Date): number => Math.floor(time.getTime() / 1000);

const toCard = ({ brand, last4 }: Stripe.PaymentMethod.Card): Card => ({ brand, last4 });

/** The customer was deleted at the provider, or the key belongs to a different account or mode. */
function nullIfMissing(error: unknown): null {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
  throw error;
}

function createCalls(onFailure: PaymentSettings['onFailure']) {
  const report = (error: unknown) => {
    const { type, code, requestId } =
      error instanceof Stripe.errors.StripeError ? error : new Stripe.errors.StripeAPIError({});
    onFailure?.({ reason: code ?? type, request_id: requestId ?? null });
  };
  return {
    async change<Result>(send: () => Promise<Result>): Promise<PaymentChange<Result>> {
      try {
        return { outcome: 'applied', result: await send() };
      } catch (error) {
        report(error);
        return toFailedChange(error);
      }
    },
    async read<Result>(send: () => Promise<Result>): Promise<PaymentReading<Result>> {
      try {
        return { outcome: 'read', result: await send() };
      } catch (error) {
        report(error);
        return unavailable;
      }
    },
  };
}

function toFailedChange(error: unknown): Exclude<PaymentChange<never>, { outcome: 'applied' }> {
  if (!(error instanceof Stripe.errors.StripeError)) return { outcome: 'unknown', isAnswered: false };
  if (error instanceof Stripe.errors.StripeAuthenticationError) return unavailable;
  if (error instanceof Stripe.errors.StripePermissionError) return unavailable;
  if (error instanceof Stripe.errors.StripeRateLimitError) return unavailable;
  // Another request with the same key is being processed.
  if (error.statusCode === 409) return { outcome: 'unknown', isAnswered: false };
  if (error instanceof Stripe.errors.StripeInvalidRequestError || error instanceof Stripe.errors.StripeCardError)
    return { outcome: 'refused', code: error.code ?? error.type };
  return { outcome: 'unknown', isAnswered: (error.statusCode ?? 0) >= 500 };
}
