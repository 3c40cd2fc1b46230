// The API schemas for billing (docs/api/workspaces.md#billing).
import { z } from 'zod';
import { answer, described, timestamp } from '../../kit/http/shapes.ts';

const PaymentMethod = answer('PaymentMethod', {
  brand: described(z.string(), 'The brand of the card.', 'visa'),
  last4: described(z.string(), 'The last four digits of the card.', '4242'),
});

export const Billing = answer('Billing', {
  mode: described(
    z.enum(['external', 'provider']),
    'How the workspace pays: as arranged by the operator (`external`), or by card through the payment provider (`provider`).',
  ),
  has_payment_method: described(
    z.boolean(),
    'Whether the workspace has a card or the operator arranges billing. Unreliable if `payment_provider_unavailable` is true.',
  ),
  payment_provider_unavailable: described(z.boolean(), 'True if the payment provider did not answer.'),
  payment_method: described(
    PaymentMethod.nullable(),
    'The card of the workspace; null if there is none, or if this is not known.',
  ),
  billing_hold: described(
    z.boolean(),
    'Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns.',
  ),
  billing_hold_reason: described(
    z.string().nullable(),
    "The operator's reason for the billing hold; null if none was given.",
    'The card on file has expired.',
  ),
});

export const BillingSetup = answer('BillingSetup', {
  url: described(
    z.string().nullable(),
    'The page for entering a card; null if the billing mode is `external`.',
    'https://checkout.stripe.com/c/pay/cs_1',
  ),
  expires_at: described(
    timestamp.nullable(),
    'When the page expires; null if the billing mode is `external`.',
    '2026-11-16T09:30:00.000Z',
  ),
});
export type BillingSetup = z.input<typeof BillingSetup>;
