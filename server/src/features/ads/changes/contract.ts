// The API schemas for campaign changes (docs/api/ads.md#changing-campaigns).
import { z } from 'zod';
import { answer, body, count, described, id, oneOf, optional } from '../../../kit/http/shapes.ts';
import { campaignParts as parts } from '../launch/contract.ts';

const statusText = 'The result of the request.';

export const PausedCampaign = answer('PausedCampaign', { status: described(z.literal('paused'), statusText) });
export const ResumedCampaign = answer('ResumedCampaign', { status: described(z.literal('resumed'), statusText) });
export const DeletedCampaign = answer('DeletedCampaign', { status: described(z.literal('deleted'), statusText) });

export const PausedCampaigns = answer('PausedCampaigns', {
  status: described(
    oneOf('paused', 'partial'),
    '`partial` if some campaigns are not confirmed to be paused; otherwise `paused`.',
  ),
  paused: described(count, 'How many campaigns this request paused.'),
  tried: described(count, 'How many campaigns this request tried to pause: those that no person had paused before.'),
  failed: described(
    z.array(
      answer('FailedPause', {
        campaign_id: described(id, 'The id of the campaign.', '0198c211-03a4-7b1e-8c55-91d0a7f4e2b6'),
        code: described(z.string(), 'The error code that pauseCampaign would return.'),
      }),
    ),
    'Campaigns that are not confirmed to be paused. Plinth keeps trying to pause them.',
  ),
});
export type PausedCampaigns = z.input<typeof PausedCampaigns>;

// ---- changing a field

/** Each field's schema. A value is validated once its field is known. */
export const updateValues = {
  name: parts.campaign_name,
  budget: parts.daily_budget_micros,
  ad_copy: body({
    headlines: optional(parts.headlines),
    long_headlines: optional(parts.long_headlines),
    descriptions: optional(parts.descriptions),
  }).refine((texts) => Object.values(texts).some((list) => list !== undefined), {
    params: { type: 'value_error' },
    error: 'must contain headlines, long_headlines or descriptions',
  }),
  geo_targets: parts.geo_targets,
  excluded_geo_targets: parts.geo_targets,
  keyword_themes: parts.keyword_themes.min(1),
  search_themes: parts.search_themes,
  landing_page: parts.landing_page,
  end_date: parts.day.nullable(),
} as const;

export type UpdateField = keyof typeof updateValues;
export type UpdateValue<Field extends UpdateField> = z.output<(typeof updateValues)[Field]>;

export const CampaignUpdate = body({
  field: described(z.enum(Object.keys(updateValues) as [UpdateField, ...UpdateField[]]), 'The field to change.'),
  value: described(
    z.unknown(),
    'The new value: a string for `name` and `landing_page`, an integer for `budget`, a date or null for `end_date`, a list of strings for locations and themes, or an object with `headlines`, `long_headlines` or `descriptions` for `ad_copy`.',
    'EXAMPLE-payment-key-a91c',
  ),
});
export type CampaignUpdate = z.output<typeof CampaignUpdate>;
