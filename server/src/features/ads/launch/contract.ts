// Owns the input of campaigns and the answers of launches as a caller sees them (docs/api/ads.md#launching).
import { z } from 'zod';
import { answer, body, httpsUrl, list, name, oneOf, optional, pattern, text } from '../../../kit/http/shapes.ts';
import { parseTime } from '../../../kit/text.ts';
import { AdsAccount, timezone } from '../accounts/contract.ts';
import { campaignTypes } from '../budgets/table.ts';
import { Campaign } from '../campaigns/contract.ts';
import { languages } from '../creative/languages.ts';
import { measureAdLength, type TextSlot, textRules } from '../creative/slots.ts';

const fault = (type: string, error: string) => ({ params: { type }, error });

/** Any integer: what is outside of the range is refused with the range. */
const anyInteger = z
  .custom<number>((value) => typeof value === 'number', {
    params: { type: 'int_type', checksType: true },
    error: 'must be an integer',
  })
  .refine((value) => Number.isInteger(value), fault('int_from_float', 'must be an integer'))
  .meta({ json: { type: 'integer' } });

/** As long as a body may be: what is too long is refused with the limit. */
const anyLength = 1024 * 1024;

const day = z
  .string()
  .refine(
    (value) => /^\d{4}-\d\d-\d\d$/.test(value) && parseTime(`${value}T00:00:00Z`) !== undefined,
    fault('date_parsing', 'must be a date such as 2026-11-16'),
  )
  .meta({ format: 'date' });

const adText = (maxUnits: number) => {
  const shape = name(1, maxUnits);
  return shape
    .refine(
      (value) => measureAdLength(value) <= maxUnits,
      fault(
        'string_too_long',
        `must have at most ${maxUnits} characters; Chinese, Japanese and Korean ones count twice`,
      ),
    )
    .meta(shape.meta() ?? {});
};

function adTexts(slot: TextSlot, max: number) {
  const { needed, maxLength, shortLength } = textRules[slot];
  const texts = list(adText(maxLength), needed, max);
  return shortLength === undefined
    ? texts
    : texts.refine(
        (all) => all.some((each) => measureAdLength(each) <= shortLength),
        fault('value_error', `must contain a text of at most ${shortLength} characters`),
      );
}

const maxThemeWords = 10;
const theme = name(1, 80);
const searchTheme = theme
  .refine(
    (value) => value.split(/\s+/).length <= maxThemeWords,
    fault('value_error', `must have at most ${maxThemeWords} words`),
  )
  .meta(theme.meta() ?? {});

const location = pattern(/^(geoTargetConstants\/)?[0-9]{1,18}$/, 37);

const euDeclarations = ['CONTAINS_EU_POLITICAL_ADVERTISING', 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING'] as const;

/** Parts that updateCampaign checks alike. */
export const campaignParts = {
  campaign_name: name(1, 120),
  daily_budget_micros: anyInteger,
  landing_page: text(0, anyLength),
  keyword_themes: list(theme, 0, 10),
  search_themes: list(searchTheme, 0, 10),
  geo_targets: list(location, 0, 100),
  headlines: adTexts('HEADLINE', 15),
  long_headlines: adTexts('LONG_HEADLINE', 5),
  descriptions: adTexts('DESCRIPTION', 5),
  day,
};

const parts = campaignParts;

export const CampaignInput = body({
  campaign_name: parts.campaign_name,
  campaign_type: oneOf(...campaignTypes),
  daily_budget_micros: parts.daily_budget_micros,
  landing_page: parts.landing_page,
  business_name: optional(name(1, anyLength)),
  business_description: optional(text(0, 2_000)),
  keyword_themes: optional(parts.keyword_themes),
  search_themes: optional(parts.search_themes),
  geo_targets: optional(parts.geo_targets),
  excluded_geo_targets: optional(parts.geo_targets),
  language_code: optional(oneOf(...languages)),
  phone_number: optional(pattern(/^\+[1-9][0-9]{6,14}$/, 16)),
  logo_url: optional(httpsUrl),
  headlines: optional(parts.headlines),
  long_headlines: optional(parts.long_headlines),
  descriptions: optional(parts.descriptions),
  marketing_image_urls: optional(list(httpsUrl, 0, 20)),
  square_image_urls: optional(list(httpsUrl, 0, 20)),
  start_date: optional(day),
  end_date: optional(day),
  contains_eu_political_advertising: optional(oneOf(...euDeclarations)),
  start_paused: optional(z.boolean()),
  draft_id: optional(pattern(/^[A-Za-z0-9_.:-]{1,64}$/, 64)),
}).meta({ id: 'CampaignInput' });
export type CampaignInput = z.output<typeof CampaignInput>;

export const LaunchRequest = body({ campaign: CampaignInput, timezone: optional(timezone) });

export type LaunchRequest = z.output<typeof LaunchRequest>;

export const LaunchedCampaign = answer('LaunchedCampaign', { account: AdsAccount, campaign: Campaign });
export type LaunchedCampaign = z.input<typeof LaunchedCampaign>;
