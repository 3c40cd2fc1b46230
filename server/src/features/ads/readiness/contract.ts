// Owns the schema of launch readiness as a caller sees it (docs/api/ads.md#launch-readiness).
import { z } from 'zod';
import { answer } from '../../../kit/http/shapes.ts';
import { campaignTypes } from '../budgets/table.ts';

const blockers = [
  'workspace_billing_hold',
  'account_billing_hold',
  'payment_provider_unavailable',
  'payment_method_required',
  'account_not_in_good_standing',
  'currency_unsupported',
  'landing_page_not_ready',
  'ad_platform_unavailable',
] as const;
export type Blocker = (typeof blockers)[number];

export const LaunchReadiness = answer('LaunchReadiness', {
  has_payment_method: z.boolean(),
  payment_provider_unavailable: z.boolean(),
  currency_code: z.string(),
  business_name: z.string(),
  landing_page: z.string(),
  landing_page_ready: z.boolean(),
  account_exists: z.boolean(),
  timezone: z.string(),
  tracking_verified: z.boolean(),
  workspace_billing_hold: z.boolean(),
  account_billing_hold: z.boolean(),
  can_create: z.array(z.enum(campaignTypes)),
  ready: z.boolean(),
  blockers: z.array(z.enum(blockers)),
});
export type LaunchReadiness = z.input<typeof LaunchReadiness>;
