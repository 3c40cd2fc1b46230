// The API schema for launch readiness (docs/api/ads.md#launch-readiness).
import { z } from 'zod';
import { answer, described } from '../../../kit/http/shapes.ts';
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
  has_payment_method: described(
    z.boolean(),
    'Whether the workspace has a card or the operator arranges billing. Unreliable if `payment_provider_unavailable` is true.',
  ),
  payment_provider_unavailable: described(z.boolean(), 'True if the payment provider did not answer.'),
  currency_code: described(z.string(), 'The currency of the existing or future advertising account.', 'EUR'),
  business_name: described(
    z.string(),
    "The app's name, shortened to the length that the ad platform allows.",
    'Flower shop',
  ),
  landing_page: described(
    z.string(),
    'The address at which the app is or would be published.',
    'https://flower-shop.apps.example/',
  ),
  landing_page_ready: described(z.boolean(), 'Whether the app is published and its page answers.'),
  account_exists: described(z.boolean(), 'Whether the app has an account at the ad platform.'),
  timezone: described(z.string(), 'The time zone of the existing or future advertising account.', 'Europe/Paris'),
  tracking_verified: described(z.boolean(), 'Whether conversion tracking is verified.'),
  workspace_billing_hold: described(z.boolean(), 'Whether an operator has put the workspace on billing hold.'),
  account_billing_hold: described(
    z.boolean(),
    'Whether the ad platform has suspended the advertising account or has not approved its billing.',
  ),
  can_create: described(z.array(z.enum(campaignTypes)), 'The types of campaigns that can be created.', [
    'PERFORMANCE_MAX',
  ]),
  ready: described(z.boolean(), 'Whether a campaign can be launched now.'),
  blockers: described(
    z.array(z.enum(blockers)),
    'The reasons why no campaign can be launched: docs/api/ads.md#launch-readiness.',
    [],
  ),
});
export type LaunchReadiness = z.input<typeof LaunchReadiness>;
