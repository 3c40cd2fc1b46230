// Owns the schemas of billing as a caller sees them (docs/api/workspaces.md#billing).
import { z } from 'zod';
import { answer, timestamp } from '../../kit/http/shapes.ts';

const PaymentMethod = answer('PaymentMethod', { brand: z.string(), last4: z.string() });

export const Billing = answer('Billing', {
  mode: z.enum(['external', 'provider']),
  has_payment_method: z.boolean(),
  payment_provider_unavailable: z.boolean(),
  payment_method: PaymentMethod.nullable(),
  billing_hold: z.boolean(),
  billing_hold_reason: z.string().nullable(),
});

export const BillingSetup = answer('BillingSetup', {
  url: z.string().nullable(),
  expires_at: timestamp.nullable(),
});
export type BillingSetup = z.input<typeof BillingSetup>;
