// The payment provider's client: one customer per workspace, a page where the workspace's owner enters a card, and
// whether there is a card. Without a provider, the operator arranges billing with the ad platform. Failures are
// returned as results, not thrown.
import type { PaymentSettings, Payments } from './provider.ts';

export type { CardSetup, Payments } from './provider.ts';

const unavailable = { outcome: 'unavailable' } as const;

const external: Payments = {
  mode: 'external',
  createCustomer: async () => unavailable,
  findCustomers: async () => unavailable,
  startCardSetup: async () => unavailable,
  readCard: async () => unavailable,
};

/** Stripe's library is large, so it is loaded on the first call. */
export function openPayments(settings: PaymentSettings): Payments {
  const { secretKey } = settings;
  if (secretKey === undefined) return external;
  let opened: Promise<Payments> | undefined;
  const open = () => {
    opened ??= import('./stripe.ts').then(({ openStripe }) => openStripe(secretKey, settings));
    return opened;
  };
  return {
    mode: 'provider',
    createCustomer: async (...args) => (await open()).createCustomer(...args),
    findCustomers: async (...args) => (await open()).findCustomers(...args),
    startCardSetup: async (...args) => (await open()).startCardSetup(...args),
    readCard: async (...args) => (await open()).readCard(...args),
  };
}
