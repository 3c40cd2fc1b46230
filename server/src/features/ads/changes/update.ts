// Changes a single campaign field (docs/api/ads.md#changing-fields). The value must follow the same rules as in a
// launch.
import { isDeepStrictEqual } from 'node:util';
import { getWorkspaceRow } from '../../../core/identity/workspaces.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { parse, ValidationError } from '../../../kit/http/faults.ts';
import { type Cleaner, createCleaner } from '../../../kit/http/request/body.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getReadyAccount } from '../accounts/account.ts';
import {
  answerWithChange,
  type CampaignAccess,
  findBegunChange,
  lockForChange,
  requireChangeable,
  requireNoLaterChange,
  requirePlatform,
  writeEntry,
} from '../campaigns/change.ts';
import { type Campaign, presentCampaign } from '../campaigns/contract.ts';
import { addChange, joinChange } from '../campaigns/record.ts';
import {
  checkBudget,
  checkLandingPage,
  findLocations,
  findTargets,
  type InputDeps,
  toResourceName,
} from '../launch/input.ts';
import { canReachEu } from '../locations/eu.ts';
import { dayIn } from '../rules/dates.ts';
import { toPlatformName } from '../rules/name.ts';
import { findCampaignByKey } from '../store/campaigns.ts';
import { type ChangeRow, findCustomerId, findLastUpdate, findLaunchKey } from '../store/changes.ts';
import { type LocationPath, listLocationsWithPaths } from '../store/locations.ts';
import type { CampaignRow, ReadyAccount } from '../store/rows.ts';
import { type CampaignUpdate, type UpdateField, type UpdateValue, updateValues } from './contract.ts';
import type { UpdateContent } from './kinds.ts';
import { type ChangeDeps, requireCampaignWithinCeiling } from './status.ts';

export type UpdateDeps = ChangeDeps & Pick<InputDeps, 'isLivePlatform'>;

/** An update whose value has been checked. */
export interface PreparedUpdate {
  readonly field: UpdateField;
  readonly content: UpdateContent;
  readonly ignored: readonly string[];
  readonly seen: SeenCampaign;
}

/** What was known about the campaign before it was locked. */
interface SeenCampaign {
  /** The last update of the field that was recorded before the platform was read. */
  readonly lastUpdate: ChangeRow | undefined;
  /** Whether our row and the platform had the value, and no change was on its way that could alter it. */
  readonly hadValue: boolean;
}

/**
 * Checks in this order: the value's format, whether the campaign type has the field, the value's meaning. The campaign
 * is checked once it is locked. Reads the platform, so it must run outside of any transaction.
 */
export async function prepareUpdate(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  { field, value: raw }: CampaignUpdate,
  now: Date,
): Promise<PreparedUpdate> {
  const { value, ignored } = parseValue(field, raw);
  const content = await toContent(db, deps, access, { field, value }, now);
  return { field, content, ignored, seen: await seeCampaign(db, deps, access.campaign, content) };
}

/** Records the change, unless the campaign has the value or the same change is on its way. */
export async function updateCampaign(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  { field, content, ignored, seen }: PreparedUpdate,
  now: Date,
): Promise<Answer<Campaign>> {
  const change = await transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    await requireChangeable(db, campaign);
    const last = await findLastUpdate(db, campaign, content.change.field);
    if (seen.hadValue && last?.id === seen.lastUpdate?.id && hasRowValue(campaign, content)) return undefined;
    if (field === 'budget') await requireAffordable(db, deps, { ...access, campaign }, content.row);
    requirePlatform(deps);
    if (last?.ended_date === null && isDeepStrictEqual(last.content, content))
      return (await joinChange(db, deps, last)).change;
    await writeEntry(db, access, 'ads.campaign.update_requested', now, toAudited(field, content));
    return (await addChange(db, deps, campaign, { kind: 'update', content, isByCaller: true }, now)).change;
  });
  return answerWithUpdate(deps, access, change, ignored);
}

/** Handles a repeated Idempotency-Key. The platform gets the change once. */
export async function resumeUpdate(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  { body, begun }: { readonly body: CampaignUpdate; readonly begun: unknown },
  now: Date,
): Promise<Answer<Campaign>> {
  const change = await findBegunChange(db, access.campaign, begun);
  if (change !== 'without effect')
    return answerWithUpdate(deps, access, change, parseValue(body.field, body.value).ignored);
  await requireNoLaterChange(db, access.campaign, begun);
  return updateCampaign(db, deps, access, await prepareUpdate(db, deps, access, body, now), now);
}

const answerWithUpdate = (
  deps: UpdateDeps,
  { campaign }: CampaignAccess,
  change: ChangeRow | undefined,
  ignored: readonly string[],
): Answer<Campaign> =>
  answerWithChange(deps, campaign, change, async (db) => {
    const row = await findCampaignByKey(db, campaign);
    if (row === undefined) throw notFound('campaign_not_found');
    return withNotes(presentCampaign(row), { ignored, ...(change === undefined && { changed: false }) });
  });

function parseValue(field: UpdateField, raw: unknown): { value: unknown; ignored: string[] } {
  const ignored: string[] = [];
  const value = parse(updateValues[field], ['body', 'value'], cleanValue[field](raw, ignored, 'value.'), ignored);
  return { value, ignored };
}

/** A lower budget is never refused. */
async function requireAffordable(
  db: Db,
  deps: UpdateDeps,
  access: CampaignAccess,
  { daily_budget_micros = 0 }: UpdateContent['row'],
): Promise<void> {
  if (Number(daily_budget_micros) > access.campaign.daily_budget_micros)
    await requireCampaignWithinCeiling(db, deps, access, Number(daily_budget_micros));
}

/** As in any request body, null counts as not sent, and unknown fields are reported. */
const cleanValue = Object.fromEntries(
  Object.entries(updateValues).map(([field, schema]) => [field, createCleaner(schema)]),
) as Record<UpdateField, Cleaner>;

/** The audit log does not include ad texts. */
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
  { field, value }: { readonly field: UpdateField; readonly value: unknown },
  now: Date,
): Promise<UpdateContent> {
  checkSection(access.campaign, field, value);
  const account = await getReadyAccount(db, access);
  // The value has the type that its field requires, but the compiler can't infer this.
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
      throw new ValidationError([{ loc: ['body', 'value'], msg: 'must be today or later', type: 'value_error' }]);
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

// ---- whether there is anything to change

/** Our row alone does not show changes made directly on the platform. */
async function seeCampaign(
  db: Db,
  { platform, times }: UpdateDeps,
  campaign: CampaignRow,
  content: UpdateContent,
): Promise<SeenCampaign> {
  const lastUpdate = await findLastUpdate(db, campaign, content.change.field);
  const customerId = await findCustomerId(db, campaign);
  const { status, platform_campaign_id } = campaign;
  const isUnread = status === 'REMOVED' || platform_campaign_id === '' || customerId === null;
  if (isUnread || lastUpdate?.ended_date === null || !hasRowValue(campaign, content))
    return { lastUpdate, hadValue: false };
  const read = await platform.campaigns.hasValue(customerId, platform_campaign_id, content.change, times.liveReadMs);
  return { lastUpdate, hadValue: read.outcome === 'read' && read.result };
}

/** True for fields that are not in our row. Lists are compared without their order, as on the platform. */
const hasRowValue = (campaign: CampaignRow, { row }: UpdateContent): boolean =>
  Object.entries(row).every(([name, value]) =>
    isDeepStrictEqual(sortList(campaign[name as keyof UpdateContent['row']]), sortList(value)),
  );

const sortList = (value: unknown): unknown => (Array.isArray(value) ? value.toSorted() : value);

// ---- fields specific to one campaign type

function checkSection({ campaign_type }: CampaignRow, field: UpdateField, value: unknown): void {
  const isSmart = campaign_type === 'SMART';
  const hasLongHeadlines = field === 'ad_copy' && (value as UpdateValue<'ad_copy'>).long_headlines !== undefined;
  const isMissing = isSmart ? field === 'search_themes' || hasLongHeadlines : field === 'keyword_themes';
  if (isMissing)
    throw new Problem(
      'bad_request',
      'section_not_applicable',
      'This field is not available for this campaign type. Use keyword themes for Smart campaigns, and search themes and long headlines for Performance Max campaigns.',
    );
}

// ---- the European Union

/**
 * A campaign that can be shown in the EU must declare at launch whether it is political. All other campaigns are
 * reported to the platform as not political, without a declaration by the caller, so they must not reach the EU later.
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
    'This change could show the campaign in the European Union, but it was launched without an EU declaration. Launch another campaign with `contains_eu_political_advertising`.',
  );
