// Owns changing one field of a campaign (docs/api/ads.md#changing-fields). The rules of a value are those of a launch.
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { type Cleaner, createCleaner } from '../../../kit/http/body.ts';
import { parse, ValidationError } from '../../../kit/http/faults.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getReadyAccount } from '../accounts/account.ts';
import type { ReadyAccount } from '../accounts/contract.ts';
import { canReachEu } from '../launch/eu.ts';
import {
  checkBudget,
  checkLandingPage,
  findLocations,
  findTargets,
  type InputDeps,
  toResourceName,
} from '../launch/input.ts';
import { dayIn } from '../search-terms/dates.ts';
import { findCampaignByKey } from '../store/campaigns.ts';
import { findLaunchKey } from '../store/changes.ts';
import { type LocationPath, listLocationsWithPaths } from '../store/locations.ts';
import {
  type CampaignAccess,
  type ChangeDeps,
  confirm,
  lockForChange,
  requireChangeable,
  requirePlatform,
  writeEntry,
} from './change.ts';
import { type CampaignUpdate, type UpdateField, type UpdateValue, updateValues } from './change-contract.ts';
import { type Campaign, type CampaignRow, presentCampaign } from './contract.ts';
import type { UpdateContent } from './kinds.ts';
import { toPlatformName } from './name.ts';
import { addChange } from './record.ts';

export type UpdateDeps = ChangeDeps & Pick<InputDeps, 'isLivePlatform'>;

/** Refuses in this order: the value, a field that the type does not have, what the value means, the campaign. */
export async function updateCampaign(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  { field, value: raw }: CampaignUpdate,
  now: Date,
): Promise<Answer<Campaign>> {
  const ignored: string[] = [];
  const value = parse(updateValues[field], ['body', 'value'], cleanValue[field](raw, ignored, 'value.'), ignored);
  const content = await toContent(db, deps, access, field, value, now);
  const recorded = await transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    await requireChangeable(db, campaign);
    requirePlatform(deps);
    await writeEntry(db, access, 'ads.campaign.update_requested', now, toAudited(field, content));
    return addChange(db, deps, campaign, { kind: 'update', content, isByCaller: true }, now);
  });
  await confirm(db, deps, recorded, access.campaign);
  const row = await findCampaignByKey(db, access.campaign);
  if (row === undefined) throw notFound('campaign_not_found');
  return withNotes(presentCampaign(row), { ignored });
}

/** As in every body: null means not sent, and unknown fields are named. */
const cleanValue = Object.fromEntries(
  Object.entries(updateValues).map(([field, schema]) => [field, createCleaner(schema)]),
) as Record<UpdateField, Cleaner>;

/** The texts of ads are not in the log. */
const toAudited = (field: UpdateField, { row }: UpdateContent) => ({ field, ...row });

interface Update {
  readonly db: Db;
  readonly deps: UpdateDeps;
  readonly access: CampaignAccess;
  readonly account: ReadyAccount;
  readonly now: Date;
}

type ToContent = {
  readonly [Field in UpdateField]: (
    value: UpdateValue<Field>,
    update: Update,
  ) => Promise<UpdateContent> | UpdateContent;
};

async function toContent(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  field: UpdateField,
  value: unknown,
  now: Date,
): Promise<UpdateContent> {
  checkSection(access.campaign, field, value);
  const account = await getReadyAccount(db, access);
  // The field and its value belong together, which the compiler does not see.
  return (contents[field] as (value: unknown, update: Update) => Promise<UpdateContent> | UpdateContent)(value, {
    db,
    deps,
    access,
    account,
    now,
  });
}

const contents: ToContent = {
  name: async (value, { db, access }) => {
    const key = await findLaunchKey(db, access.campaign);
    const name = key === undefined ? value : toPlatformName(value, key);
    return { change: { field: 'name', value: name }, row: { campaign_name: value } };
  },
  budget: (value, { access, account }) => {
    checkBudget(value, account.currency_code, access.campaign.campaign_type);
    return { change: { field: 'dailyBudgetMicros', value }, row: { daily_budget_micros: value } };
  },
  landing_page: (value) => {
    checkLandingPage(value);
    return { change: { field: 'landingPage', value }, row: { landing_page: value } };
  },
  ad_copy: ({ headlines, long_headlines, descriptions }) => ({
    change: {
      field: 'texts',
      value: {
        ...(headlines && { headlines }),
        ...(long_headlines && { longHeadlines: long_headlines }),
        ...(descriptions && { descriptions }),
      },
    },
    row: {},
  }),
  keyword_themes: (value) => ({ change: { field: 'keywordThemes', value }, row: {} }),
  search_themes: (value) => ({ change: { field: 'searchThemes', value }, row: {} }),
  end_date: (value, { account, now }) => {
    if (value !== null && value < dayIn(account.timezone, now))
      throw new ValidationError([{ loc: ['body', 'value'], msg: 'must not be before today', type: 'value_error' }]);
    return { change: { field: 'endDate', value: value ?? '' }, row: {} };
  },
  geo_targets: async (value, update) => {
    const { db, deps, access } = update;
    const { country_code } = await getWorkspaceRow(db, access);
    const targets = await findTargets(db, deps, value, country_code);
    await requireDeclared(update, { targets });
    const geo_targets = targets.map(toResourceName);
    return { change: { field: 'locations', value: geo_targets }, row: { geo_targets } };
  },
  excluded_geo_targets: async (value, update) => {
    const excluded = await findLocations(update.db, update.deps, value);
    await requireDeclared(update, { excluded });
    const excluded_geo_targets = excluded.map(toResourceName);
    return { change: { field: 'excludedLocations', value: excluded_geo_targets }, row: { excluded_geo_targets } };
  },
};

// ---- fields of one type of campaign

function checkSection({ campaign_type }: CampaignRow, field: UpdateField, value: unknown): void {
  const isSmart = campaign_type === 'SMART';
  const hasLongHeadlines = field === 'ad_copy' && (value as UpdateValue<'ad_copy'>).long_headlines !== undefined;
  const isMissing = isSmart ? field === 'search_themes' || hasLongHeadlines : field === 'keyword_themes';
  if (isMissing)
    throw new Problem(
      'bad_request',
      'section_not_applicable',
      'Campaigns of this type do not have this field. Keyword themes belong to Smart campaigns, search themes and long headlines to Performance Max campaigns.',
    );
}

// ---- the European Union

/**
 * Whoever launched a campaign that can be shown in the EU has declared whether it is political. For another one nobody has, and the
 * platform was told that it is not: it must not be shown there later.
 */
async function requireDeclared(
  { db, access }: Update,
  change: { readonly targets?: readonly LocationPath[]; readonly excluded?: readonly LocationPath[] },
): Promise<void> {
  const { geo_targets, excluded_geo_targets } = access.campaign;
  const [before, excludedBefore] = [await findKnown(db, geo_targets), await findKnown(db, excluded_geo_targets)];
  const { targets = before, excluded = excludedBefore } = change;
  const reaches = (targets: readonly LocationPath[], excluded: readonly LocationPath[]) =>
    canReachEu(
      db,
      targets,
      excluded.map(({ id }) => id),
    );
  if ((await reaches(targets, excluded)) && !(await reaches(before, excludedBefore))) throw notDeclared();
}

const findKnown = (db: Db, resourceNames: readonly string[]) =>
  listLocationsWithPaths(
    db,
    resourceNames.map((name) => Number(name.replace('geoTargetConstants/', ''))),
  );

const notDeclared = () =>
  new Problem(
    'bad_request',
    'eu_declaration_required',
    'The campaign was launched without a declaration for the European Union, and could now be shown there. Launch another campaign with `contains_eu_political_advertising`.',
  );
