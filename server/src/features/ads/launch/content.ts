// A launch's content: the campaign with its defaults, and the model's texts where the caller sent none.
import type { AppRow } from '../../../core/auth/proofs.ts';
import { countCampaignText, uncountCampaignText } from '../../../core/credits/unpaid.ts';
import type { NewCampaign } from '../../../gateways/ad-platform/index.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type AdCopy, writeCopy } from '../creative/copy.ts';
import type { Language } from '../creative/languages.ts';
import type { Business } from '../creative/prompt.ts';
import type { TextSlot } from '../rules/slots.ts';
import type { CampaignInput } from './contract.ts';
import type { CheckedTargets } from './input.ts';

/** Stored with the launch, so another worker can send the same content. Images are fetched again. */
export interface LaunchContent {
  /** The campaign without its name, which contains the launch key. */
  readonly campaign: Omit<NewCampaign, 'name' | 'logo' | 'marketingImages' | 'squareImages'>;
  readonly logo_url: string | null;
  readonly marketing_image_urls: readonly string[];
  readonly square_image_urls: readonly string[];
  /** The currency that the budget was checked in. */
  readonly currency_code: string;
}

export type Texts = Pick<NewCampaign, 'headlines' | 'longHeadlines' | 'descriptions'>;

export function composeContent(
  input: CampaignInput,
  businessName: string,
  targets: CheckedTargets,
  texts: Texts,
  currency_code: string,
): LaunchContent {
  const isSmart = input.campaign_type === 'SMART';
  const keywordThemes = input.keyword_themes?.length ? input.keyword_themes : [businessName];
  const campaign = {
    type: input.campaign_type,
    dailyBudgetMicros: input.daily_budget_micros,
    landingPage: input.landing_page,
    businessName,
    languageCode: input.language_code ?? 'en',
    locations: targets.geo_targets,
    excludedLocations: targets.excluded_geo_targets,
    phoneNumber: input.phone_number ?? '',
    keywordThemes: isSmart ? keywordThemes : [],
    searchThemes: isSmart ? [] : (input.search_themes ?? []),
    ...texts,
    ...(input.start_date !== undefined && { startDate: input.start_date }),
    ...(input.end_date !== undefined && { endDate: input.end_date }),
    // This default is correct, because a campaign without the caller's declaration can't be shown in the EU. A campaign
    // with no declaration at all could block the whole account.
    euPoliticalAdvertising: input.contains_eu_political_advertising ?? 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING',
  } as const;
  return {
    campaign,
    logo_url: isSmart ? null : (input.logo_url ?? null),
    marketing_image_urls: isSmart ? [] : (input.marketing_image_urls ?? []),
    square_image_urls: isSmart ? [] : (input.square_image_urls ?? []),
    currency_code,
  };
}

/** Lists the fields that this campaign type ignores. */
export function listWithoutEffect(input: CampaignInput): string[] {
  const fields =
    input.campaign_type === 'SMART'
      ? (['search_themes', 'long_headlines', 'logo_url', 'marketing_image_urls', 'square_image_urls'] as const)
      : (['keyword_themes'] as const);
  return fields.filter((field) => input[field] !== undefined);
}

/** Days are in the account's time zone. A campaign without a start date starts today. */
export function checkDays({ start_date, end_date }: CampaignInput, today: string, at: readonly string[]): void {
  const faultAt = (field: string, msg: string) =>
    new ValidationError([{ loc: ['body', ...at, field], msg, type: 'value_error' }]);
  if (start_date !== undefined && start_date < today) throw faultAt('start_date', 'must be today or later');
  if (end_date !== undefined && end_date < (start_date ?? today))
    throw faultAt('end_date', 'must be on or after the start date');
}

/** Part of the caller's total wait of 45 seconds. */
const maxCopyMs = 12_000;

/** Uses the texts in the request, and requests missing ones from the model. */
export async function completeTexts(
  input: CampaignInput,
  write: (slots: readonly TextSlot[], language: Language) => Promise<AdCopy>,
): Promise<Texts> {
  const isSmart = input.campaign_type === 'SMART';
  const sent: Readonly<Record<TextSlot, readonly string[] | undefined>> = {
    HEADLINE: input.headlines,
    // Smart campaigns have no long headlines.
    LONG_HEADLINE: isSmart ? [] : input.long_headlines,
    DESCRIPTION: input.descriptions,
  };
  const missing = (['HEADLINE', 'LONG_HEADLINE', 'DESCRIPTION'] as const).filter((slot) => sent[slot] === undefined);
  const written = missing.length === 0 ? {} : await write(missing, input.language_code ?? 'en');
  const textsOf = (slot: TextSlot) => sent[slot] ?? written[slot] ?? [];
  return {
    headlines: textsOf('HEADLINE'),
    longHeadlines: textsOf('LONG_HEADLINE'),
    descriptions: textsOf('DESCRIPTION'),
  };
}

/** Nobody pays for these texts, so only a number of launches a day may ask for them. */
export async function writeTexts(
  db: Db,
  model: LanguageModel,
  app: Pick<AppRow, 'workspace_id' | 'id'>,
  { slots, ...about }: TextOrder,
  now: Date,
): Promise<AdCopy> {
  if (!model.configured) throw modelNotConfigured();
  await countCampaignText(db, app, now);
  const copy = await writeCopy(model, slots, about, AbortSignal.timeout(maxCopyMs));
  if (copy === 'unavailable') await uncountCampaignText(db, app, now);
  if (typeof copy === 'string') throw modelUnavailable();
  return copy;
}

interface TextOrder {
  readonly slots: readonly TextSlot[];
  readonly language: Language;
  readonly business: Business;
}

const modelUnavailable = () =>
  new Problem(
    'unavailable',
    'model_unavailable',
    'The language model is unavailable or did not produce usable ad copy. Nothing was created. Send the request again in a few seconds, or provide the ad copy yourself.',
    { headers: { 'retry-after': '5' } },
  );

const modelNotConfigured = () =>
  new Problem(
    'unavailable',
    'model_not_configured',
    'This installation has no language model to write the missing ad copy. Nothing was created. Provide the ad copy yourself, or ask the operator to set MODEL_URL.',
    { retrySafe: false },
  );
