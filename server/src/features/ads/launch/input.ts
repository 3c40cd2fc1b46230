// The campaign checks that run before anything is sent, in the order given in docs/api/ads.md#launching. A failed
// check throws a 400.
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getBudgetBoundaries } from '../budgets/boundaries.ts';
import type { CampaignType } from '../budgets/table.ts';
import { canReachEu } from '../locations/eu.ts';
import { locationsNotImported } from '../problems.ts';
import { measureAdLength } from '../rules/slots.ts';
import { findCatalogue } from '../store/catalogue.ts';
import { type LocationPath, listCountriesWithPaths, listLocationsWithPaths } from '../store/locations.ts';
import type { CampaignInput } from './contract.ts';

export interface InputDeps {
  readonly canCreate: readonly CampaignType[];
  /** Whether this is the live ad platform, whose locations the operator has to import. */
  readonly isLivePlatform: boolean;
}

/** The account's currency and the workspace's country. */
export interface Surroundings {
  readonly currency_code: string;
  readonly country_code: string;
}

export interface CheckedTargets {
  readonly geo_targets: string[];
  readonly excluded_geo_targets: string[];
}

/** Checks in this order: type, logo, landing page, business name, currency, budget, locations, declaration. */
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

/** Checks only the form. The platform decides whether the page can be read. */
export function checkLandingPage(url: string): void {
  // The URL parser also accepts `https:shop.example.com` and strips spaces.
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
      "The daily budget is outside the range allowed for the account's currency and the campaign type. Send a budget between `min_daily_budget_micros` and `max_daily_budget_micros`.",
      { members: { min_daily_budget_micros, max_daily_budget_micros, currency_code } },
    );
  if (micros % step_micros !== 0)
    throw new Problem(
      'bad_request',
      'budget_not_multiple',
      "The daily budget is not a multiple of the currency's smallest unit. Round it to a multiple of `step_micros`.",
      { members: { step_micros } },
    );
}

/**
 * Defaults to the workspace's country, because a campaign must not target the whole world unless the caller requests
 * it.
 */
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

/** Returns each location once, in the order requested. Refuses locations that are not in the catalogue. */
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

/** On the live platform, the bundled locations' ids refer to different places. */
async function requireCatalogue(db: Db, { isLivePlatform }: Pick<InputDeps, 'isLivePlatform'>): Promise<void> {
  if (isLivePlatform && (await findCatalogue(db))?.source !== 'imported') throw locationsNotImported();
}

const typeNotAvailable = () =>
  new Problem(
    'bad_request',
    'campaign_type_not_available',
    "Campaigns of this type aren't available on this installation. Nothing was created. Launch a `PERFORMANCE_MAX` campaign instead.",
  );

const logoRequired = () =>
  new Problem('bad_request', 'logo_required', 'A Performance Max campaign needs a logo. Send `logo_url`.');

const landingPageInvalid = () =>
  new Problem(
    'bad_request',
    'landing_page_invalid',
    'The landing page must be an absolute http or https URL of at most 2,048 characters, without a user name. Send the URL that getLaunchReadiness returns, or a different one.',
  );

const businessNameTooLong = () =>
  new Problem(
    'bad_request',
    'business_name_too_long',
    'The business name is too long. Shorten it to at most `limit` characters; Chinese, Japanese and Korean characters count twice.',
    { members: { limit: maxNameUnits } },
  );

const unknownLocations = (values: readonly string[]) =>
  new Problem(
    'bad_request',
    'geo_target_unknown',
    'The locations in `values` do not exist. Use searchGeoTargets to find valid locations.',
    { members: { values } },
  );

const declarationRequired = () =>
  new Problem(
    'bad_request',
    'eu_declaration_required',
    'The campaign could be shown in the European Union. Send `contains_eu_political_advertising`, or exclude all EU countries.',
  );
