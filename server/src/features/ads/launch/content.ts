// Owns what a launch sends: the campaign with its defaults, and texts of the model for those that are missing.
import type { NewCampaign } from '../../../gateways/ad-platform/index.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import { type AdCopy, writeCopy } from '../creative/copy.ts';
import type { Language } from '../creative/languages.ts';
import type { Business } from '../creative/prompt.ts';
import type { TextSlot } from '../creative/slots.ts';
import type { CampaignInput } from './contract.ts';
import type { CheckedTargets } from './input.ts';

/** Stored with the launch: a worker that takes over sends the same. Images are fetched anew. */
export interface LaunchContent {
  /** Without its name, which has the launch key. */
  readonly campaign: Omit<NewCampaign, 'name' | 'logo' | 'marketingImages' | 'squareImages'>;
  readonly logo_url: string | null;
  readonly marketing_image_urls: readonly string[];
  readonly square_image_urls: readonly string[];
  /** The one in which the budget was checked. */
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
    // True where it is not sent: the campaign can't be shown in the EU. An undeclared one could block the whole account.
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

/** Fields that have no effect for the type of the campaign. */
export function listWithoutEffect(input: CampaignInput): string[] {
  const fields =
    input.campaign_type === 'SMART'
      ? (['search_themes', 'long_headlines', 'logo_url', 'marketing_image_urls', 'square_image_urls'] as const)
      : (['keyword_themes'] as const);
  return fields.filter((field) => input[field] !== undefined);
}

/** Days are those of the account. A campaign that starts at once starts today. */
export function checkDays({ start_date, end_date }: CampaignInput, today: string, at: readonly string[]): void {
  const faultAt = (field: string, msg: string) =>
    new ValidationError([{ loc: ['body', ...at, field], msg, type: 'value_error' }]);
  if (start_date !== undefined && start_date < today) throw faultAt('start_date', 'must not be before today');
  if (end_date !== undefined && end_date < (start_date ?? today))
    throw faultAt('end_date', 'must not be before the start');
}

/** The day in a time zone: `2026-11-16`. */
export const dayIn = (time: Date, timeZone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(time);

/** The caller waits for 45 seconds in all. */
const maxCopyMs = 12_000;

/** Those that were sent; the model writes the others. */
export async function completeTexts(model: LanguageModel, input: CampaignInput, business: Business): Promise<Texts> {
  const isSmart = input.campaign_type === 'SMART';
  const sent: Readonly<Record<TextSlot, readonly string[] | undefined>> = {
    HEADLINE: input.headlines,
    // A Smart campaign has none.
    LONG_HEADLINE: isSmart ? [] : input.long_headlines,
    DESCRIPTION: input.descriptions,
  };
  const missing = (['HEADLINE', 'LONG_HEADLINE', 'DESCRIPTION'] as const).filter((slot) => sent[slot] === undefined);
  const written = missing.length === 0 ? {} : await writeTexts(model, missing, input.language_code ?? 'en', business);
  const textsOf = (slot: TextSlot) => sent[slot] ?? written[slot] ?? [];
  return {
    headlines: textsOf('HEADLINE'),
    longHeadlines: textsOf('LONG_HEADLINE'),
    descriptions: textsOf('DESCRIPTION'),
  };
}

async function writeTexts(
  model: LanguageModel,
  slots: readonly TextSlot[],
  language: Language,
  business: Business,
): Promise<AdCopy> {
  if (!model.configured) throw modelNotConfigured();
  const copy = await writeCopy(model, slots, { language, business }, AbortSignal.timeout(maxCopyMs));
  if (copy === undefined) throw modelUnavailable();
  return copy;
}

const modelUnavailable = () =>
  new Problem(
    'unavailable',
    'model_unavailable',
    'The language model is unavailable or did not write usable texts. Nothing was created. Send the request again in a few seconds, or send the texts yourself.',
    { headers: { 'retry-after': '5' } },
  );

const modelNotConfigured = () =>
  new Problem(
    'unavailable',
    'model_not_configured',
    'This installation has no language model to write the texts that are missing. Nothing was created. Send the texts yourself, or ask the operator to set MODEL_URL.',
    { retrySafe: false },
  );
