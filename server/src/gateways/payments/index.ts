// Owns the client for the payment provider: a customer per workspace, a page on which its owner enters a card, and whether there is a
// card. Without a provider the operator arranges billing with the ad platform. Whether a change was applied is a result, not an
// exception.
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

/** Stripe's library is much to load, so it is loaded by the first call. */
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
