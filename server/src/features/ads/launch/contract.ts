// The API schemas for campaign input and launch responses (docs/api/ads.md#launching).
import { z } from 'zod';
import {
  answer,
  body,
  described,
  httpsUrl,
  list,
  name,
  oneOf,
  optional,
  pattern,
  text,
} from '../../../kit/http/shapes.ts';
import { parseTime } from '../../../kit/text.ts';
import { AdsAccount, timezone } from '../accounts/contract.ts';
import { campaignTypes } from '../budgets/table.ts';
import { Campaign } from '../campaigns/contract.ts';
import { languages } from '../creative/languages.ts';
import { measureAdLength, type TextSlot, textRules } from '../rules/slots.ts';

const fault = (type: string, error: string) => ({ params: { type }, error });

/** Accepts any integer. A later check refuses out-of-range values and reports the range. */
const anyInteger = z
  .custom<number>((value) => typeof value === 'number', {
    params: { type: 'int_type', checksType: true },
    error: 'must be an integer',
  })
  .refine((value) => Number.isInteger(value), fault('int_from_float', 'must be an integer'))
  .meta({ json: { type: 'integer' } });

/** The maximum body length. A later check refuses texts that are too long and reports the limit. */
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
        `must be at most ${maxUnits} characters long; Chinese, Japanese and Korean characters count twice`,
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
        fault('value_error', `must contain at least one item of at most ${shortLength} characters`),
      );
}

const maxThemeWords = 10;
const theme = name(1, 80);
const searchTheme = theme
  .refine(
    (value) => value.split(/\s+/).length <= maxThemeWords,
    fault('value_error', `must contain at most ${maxThemeWords} words`),
  )
  .meta(theme.meta() ?? {});

const location = pattern(/^(geoTargetConstants\/)?[0-9]{1,18}$/, 37);

const euDeclarations = ['CONTAINS_EU_POLITICAL_ADVERTISING', 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING'] as const;

/** Parts that updateCampaign validates in the same way. */
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
  campaign_name: described(parts.campaign_name, 'The name of the campaign.', 'Spring flowers'),
  campaign_type: described(
    oneOf(...campaignTypes),
    'The type of the campaign. It must be in `can_create` of getLaunchReadiness.',
    'PERFORMANCE_MAX',
  ),
  daily_budget_micros: described(
    parts.daily_budget_micros,
    'The daily budget, in millionths of the currency unit.',
    15_000_000,
  ),
  landing_page: described(
    parts.landing_page,
    'The page that the ads link to, for example the `landing_page` of getLaunchReadiness.',
    'https://flower-shop.apps.example/',
  ),
  business_name: described(
    optional(name(1, anyLength)),
    'The name of the business, with at most 25 characters; the name of the app by default.',
    'Flower shop',
  ),
  business_description: described(
    optional(text(0, 2_000)),
    'What the business offers; the description of the app by default.',
    'Freshly roasted coffee, delivered in Hamburg.',
  ),
  keyword_themes: described(
    optional(parts.keyword_themes),
    'The keyword themes of a Smart campaign; the business name by default.',
    ['flower delivery'],
  ),
  search_themes: described(
    optional(parts.search_themes),
    'The search themes of a Performance Max campaign, with at most 10 words each.',
    ['flower delivery'],
  ),
  geo_targets: described(
    optional(parts.geo_targets),
    "The locations where the ads are shown, as ids from searchGeoTargets; the workspace's country by default.",
    ['geoTargetConstants/2840'],
  ),
  excluded_geo_targets: described(optional(parts.geo_targets), 'The locations where the ads are not shown.', [
    'geoTargetConstants/21137',
  ]),
  language_code: described(optional(oneOf(...languages)), 'The language of the ads; English by default.', 'en'),
  phone_number: described(optional(pattern(/^\+[1-9][0-9]{6,14}$/, 16)), 'The phone number in the ads.', '+4989123456'),
  logo_url: described(
    optional(httpsUrl),
    'The address of a square logo of at least 128 pixels. Required for a Performance Max campaign.',
    'https://flower-shop.apps.example/logo.png',
  ),
  headlines: described(
    optional(parts.headlines),
    'Headlines of at most 30 characters, one of them at most 15. If not sent, the language model writes them.',
    ['Fresh flowers', 'Flowers for every day', 'Delivered tomorrow'],
  ),
  long_headlines: described(
    optional(parts.long_headlines),
    'Long headlines of a Performance Max campaign, with at most 90 characters each.',
    ['Coffee that was roasted this morning, delivered to your door'],
  ),
  descriptions: described(
    optional(parts.descriptions),
    'Descriptions of at most 90 characters, one of them at most 60.',
    ['Order fresh flowers from your florist.', 'Bouquets for every occasion, brought to your door.'],
  ),
  marketing_image_urls: described(
    optional(list(httpsUrl, 0, 20)),
    'Addresses of images with the aspect ratio 1.91:1. If there are none, a generated or drawn image is used.',
    ['https://flower-shop.apps.example/wide.png'],
  ),
  square_image_urls: described(
    optional(list(httpsUrl, 0, 20)),
    'Addresses of square images. If there are none, a generated or drawn image is used.',
    ['https://flower-shop.apps.example/square.png'],
  ),
  start_date: described(
    optional(day),
    'The first day of the campaign, in the time zone of the account; today by default.',
    '2026-11-20',
  ),
  end_date: described(
    optional(day),
    'The last day of the campaign. If not sent, the campaign has no end.',
    '2026-12-24',
  ),
  contains_eu_political_advertising: described(
    optional(oneOf(...euDeclarations)),
    'Whether the campaign contains political advertising. Required if it can be shown in the European Union.',
    'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING',
  ),
  start_paused: described(optional(z.boolean()), 'Whether the campaign stays paused until it is resumed.', false),
  draft_id: described(
    optional(pattern(/^[A-Za-z0-9_.:-]{1,64}$/, 64)),
    'An id that you choose for the draft. A draft creates one campaign, however often it is sent.',
    'spring-1',
  ),
}).meta({ id: 'CampaignInput' });
export type CampaignInput = z.output<typeof CampaignInput>;

export const LaunchRequest = body({
  campaign: described(CampaignInput, 'The campaign to launch.'),
  timezone: described(
    optional(timezone),
    'The time zone of a new account, as an IANA name; `UTC` by default.',
    'Europe/Paris',
  ),
});

export type LaunchRequest = z.output<typeof LaunchRequest>;

export const LaunchedCampaign = answer('LaunchedCampaign', {
  account: described(AdsAccount, "The app's advertising account."),
  campaign: described(Campaign, 'The launched campaign.'),
});
export type LaunchedCampaign = z.input<typeof LaunchedCampaign>;
