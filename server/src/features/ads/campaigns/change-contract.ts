// Owns the schemas of changes of campaigns as a caller sees them (docs/api/ads.md#changing-campaigns).
import { z } from 'zod';
import { answer, body, count, id, oneOf, optional } from '../../../kit/http/shapes.ts';
import { campaignParts as parts } from '../launch/contract.ts';

export const PausedCampaign = answer('PausedCampaign', { status: z.literal('paused') });
export const ResumedCampaign = answer('ResumedCampaign', { status: z.literal('resumed') });
export const DeletedCampaign = answer('DeletedCampaign', { status: z.literal('deleted') });

export const PausedCampaigns = answer('PausedCampaigns', {
  status: oneOf('paused', 'partial').meta({ description: '`partial`: some campaigns are not confirmed to be paused.' }),
  paused: count.meta({ description: 'How many campaigns are paused by this call.' }),
  tried: count.meta({ description: 'How many campaigns were not paused by a person before.' }),
  failed: z
    .array(
      answer('FailedPause', {
        campaign_id: id,
        code: z.string().meta({ description: 'The code that pauseCampaign would answer with.' }),
      }),
    )
    .meta({ description: 'Campaigns that are not confirmed to be paused. Plinth goes on trying.' }),
});
export type PausedCampaigns = z.input<typeof PausedCampaigns>;

// ---- changing a field

/** What each field accepts. The value of a body is checked once its field is known. */
export const updateValues = {
  name: parts.campaign_name,
  budget: parts.daily_budget_micros,
  ad_copy: body({
    headlines: optional(parts.headlines),
    long_headlines: optional(parts.long_headlines),
    descriptions: optional(parts.descriptions),
  }).refine((texts) => Object.values(texts).some((list) => list !== undefined), {
    params: { type: 'value_error' },
    error: 'must have headlines, long_headlines or descriptions',
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
  field: z
    .enum(Object.keys(updateValues) as [UpdateField, ...UpdateField[]])
    .meta({ description: 'The field to change.' }),
  value: z.unknown().meta({
    description:
      'The new value: a text for `name` and `landing_page`, an integer for `budget`, a date or null for `end_date`, a list of texts for locations and themes, an object with `headlines`, `long_headlines` or `descriptions` for `ad_copy`.',
  }),
});
export type CampaignUpdate = z.output<typeof CampaignUpdate>;
