// Owns what is checked of a campaign before anything is sent, in the order of docs/api/ads.md#launching. Each check refuses with 400.
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getBudgetBoundaries } from '../budgets/boundaries.ts';
import type { CampaignType } from '../budgets/table.ts';
import { measureAdLength } from '../creative/slots.ts';
import { locationsNotImported } from '../problems.ts';
import { findCatalogue } from '../store/catalogue.ts';
import { type LocationPath, listCountriesWithPaths, listLocationsWithPaths } from '../store/locations.ts';
import type { CampaignInput } from './contract.ts';
import { canReachEu } from './eu.ts';

export interface InputDeps {
  readonly canCreate: readonly CampaignType[];
  /** The ad platform is the live one, whose locations an operator has to import. */
  readonly isLivePlatform: boolean;
}

/** Of the account that the campaign will be in, and of the workspace. */
export interface Surroundings {
  readonly currency_code: string;
  readonly country_code: string;
}

export interface CheckedTargets {
  readonly geo_targets: string[];
  readonly excluded_geo_targets: string[];
}

/** Refuses in this order: type, logo, landing page, business name, currency, budget, locations, declaration. */
export async function checkCampaign(
  db: Db,
  deps: InputDeps,
  input: CampaignInput,
  { currency_code, country_code }: Surroundings,
): Promise<CheckedTargets> {
  const { campaign_type } = input;
  if (!deps.canCreate.includes(campaign_type)) throw typeNotAvailable();
  if (campaign_type === 'PERFORMANCE_MAX' && input.logo_url === undefined) throw logoRequired();
  checkLandingPage(input.landing_page);
  checkBusinessName(input.business_name ?? '');
  checkBudget(input.daily_budget_micros, currency_code, campaign_type);
  const targets = await findTargets(db, deps, input.geo_targets ?? [], country_code);
  const excluded = await findLocations(db, deps, input.excluded_geo_targets ?? []);
  const excludedIds = excluded.map(({ id }) => id);
  if (input.contains_eu_political_advertising === undefined && (await canReachEu(db, targets, excludedIds)))
    throw declarationRequired();
  return { geo_targets: targets.map(toResourceName), excluded_geo_targets: excluded.map(toResourceName) };
}

const maxUrlLength = 2_048;

/** Whether the page can be read is the platform's to judge. */
export function checkLandingPage(url: string): void {
  // The parser also accepts `https:shop.example.com`, and leaves out spaces.
  const hasForm = /^https?:\/\/\S+$/i.test(url) && [...url].length <= maxUrlLength;
  const parsed = hasForm && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.username + parsed.password !== '') throw landingPageInvalid();
}

const maxNameUnits = 25;

function checkBusinessName(name: string): void {
  if (name.length > 2 * maxNameUnits || measureAdLength(name) > maxNameUnits) throw businessNameTooLong();
}

export function checkBudget(micros: number, currency_code: string, campaign_type: CampaignType): void {
  const bounds = getBudgetBoundaries({ currency_code, campaign_type });
  const { min_daily_budget_micros, max_daily_budget_micros, step_micros } = bounds;
  if (micros < min_daily_budget_micros || micros > max_daily_budget_micros)
    throw new Problem(
      'bad_request',
      'budget_out_of_range',
      "The daily budget is too small or too large for the account's currency and the type of the campaign. Send one within the bounds.",
      { members: { min_daily_budget_micros, max_daily_budget_micros, currency_code } },
    );
  if (micros % step_micros !== 0)
    throw new Problem(
      'bad_request',
      'budget_not_multiple',
      'The daily budget is not a multiple of the smallest amount of the currency. Round it to a multiple of `step_micros`.',
      { members: { step_micros } },
    );
}

/** Without any, the workspace's country: never the whole world unasked. */
export async function findTargets(
  db: Db,
  deps: Pick<InputDeps, 'isLivePlatform'>,
  values: readonly string[],
  country_code: string,
): Promise<readonly LocationPath[]> {
  if (values.length > 0) return findLocations(db, deps, values);
  await requireCatalogue(db, deps);
  const [country] = await listCountriesWithPaths(db, [country_code]);
  if (country === undefined) throw unknownLocations([country_code]);
  return [country];
}

/** In the order in which they were sent, each once. Refuses those that the catalogue does not have. */
export async function findLocations(
  db: Db,
  deps: Pick<InputDeps, 'isLivePlatform'>,
  values: readonly string[],
): Promise<readonly LocationPath[]> {
  if (values.length === 0) return [];
  await requireCatalogue(db, deps);
  const idOf = (value: string) => Number(value.replace('geoTargetConstants/', ''));
  const known = new Map((await listLocationsWithPaths(db, values.map(idOf))).map((place) => [place.id, place]));
  const unknown = values.filter((value) => !known.has(idOf(value)));
  if (unknown.length > 0) throw unknownLocations(unknown);
  return [...new Set(values.map(idOf))].flatMap((id) => known.get(id) ?? []);
}

export const toResourceName = ({ id }: LocationPath): string => `geoTargetConstants/${id}`;

/** The ids of the bundled places mean other places at the live platform. */
async function requireCatalogue(db: Db, { isLivePlatform }: Pick<InputDeps, 'isLivePlatform'>): Promise<void> {
  if (isLivePlatform && (await findCatalogue(db))?.source !== 'imported') throw locationsNotImported();
}

const typeNotAvailable = () =>
  new Problem(
    'bad_request',
    'campaign_type_not_available',
    "Campaigns of this type can't be created here. Nothing was created. Launch one of the type PERFORMANCE_MAX.",
  );

const logoRequired = () =>
  new Problem('bad_request', 'logo_required', 'A Performance Max campaign needs a logo. Send `logo_url`.');

const landingPageInvalid = () =>
  new Problem(
    'bad_request',
    'landing_page_invalid',
    'The landing page is not an absolute http or https URL of at most 2,048 characters without a user name. Send the one of getLaunchReadiness, or another.',
  );

const businessNameTooLong = () =>
  new Problem(
    'bad_request',
    'business_name_too_long',
    'The business name is too long. Shorten it to `limit` characters; Chinese, Japanese and Korean ones count twice.',
    { members: { limit: maxNameUnits } },
  );

const unknownLocations = (values: readonly string[]) =>
  new Problem(
    'bad_request',
    'geo_target_unknown',
    'The catalogue does not have the locations in `values`. Find locations with searchGeoTargets.',
    { members: { values } },
  );

const declarationRequired = () =>
  new Problem(
    'bad_request',
    'eu_declaration_required',
    'The campaign can be shown in the European Union. Send `contains_eu_political_advertising`, or exclude the countries of the European Union.',
  );
