// Changes a campaign. The current state is read, and the difference is sent in one request. Additions come before
// removals, because a campaign must never have too few items.
import type { Calls } from '../calls.ts';
import type { CampaignChange, SendOptions } from '../campaign.ts';
import { asArray, asText } from '../json.ts';
import { mutate, type Operation } from '../mutate.ts';
import type { Change, Reading } from '../outcome.ts';
import { type Row, search } from '../search.ts';
import { collectAssets, linkToGroup, toTextAsset } from './assets.ts';
import { createLocation } from './common.ts';
import { endOfDay, get, getText, namesIn } from './names.ts';
import { createSearchTheme } from './performance-max.ts';
import { isCampaign, isKept } from './read.ts';
import { createKeywordTheme, smartDescriptions, smartHeadlines, toSmartTexts, updateSetting } from './smart.ts';

const maxRows = 10_000;

export async function updateCampaign(
  calls: Calls,
  customerId: string,
  campaignId: string,
  change: CampaignChange,
  { notAfter }: SendOptions = {},
): Promise<Change<unknown>> {
  const planned = await planUpdate(calls, customerId, campaignId, change, notAfter);
  if (planned.outcome !== 'read') return planned;
  if (planned.result.length === 0) return { outcome: 'applied', result: undefined, requestId: planned.requestId };
  return mutate(calls, customerId, planned.result, notAfter === undefined ? {} : { notAfter });
}

/** False if the platform would refuse the change. */
export async function hasValue(
  calls: Calls,
  customerId: string,
  campaignId: string,
  change: CampaignChange,
  timeoutMs: number,
): Promise<Reading<boolean>> {
  const planned = await planUpdate(calls, customerId, campaignId, change, performance.now() + timeoutMs);
  if (planned.outcome === 'refused') return { outcome: 'read', result: false, requestId: planned.requestId };
  return planned.outcome === 'read' ? { ...planned, result: planned.result.length === 0 } : planned;
}

/** The operations to send, which are none if the campaign already has the value. */
async function planUpdate(
  calls: Calls,
  customerId: string,
  campaignId: string,
  change: CampaignChange,
  notAfter: number | undefined,
): Promise<Reading<Operation[]> | Refused> {
  const run: Run = async (query) => {
    const timeoutMs = notAfter === undefined ? undefined : notAfter - performance.now();
    const found = await search(calls, customerId, query, maxRows, timeoutMs);
    return found.outcome === 'read' ? { ...found, result: found.result.rows } : found;
  };
  const found = await run(
    `SELECT campaign.name, campaign.status, campaign.advertising_channel_type, campaign.end_date_time, campaign.campaign_budget, campaign_budget.amount_micros FROM campaign WHERE ${isCampaign(campaignId)}`,
  );
  if (found.outcome !== 'read') return found;
  const [row] = found.result;
  if (row === undefined)
    return refused('mutateError.RESOURCE_NOT_FOUND', 'The campaign does not exist in this account.', found.requestId);
  if (getText(row, 'campaign', 'status') === 'REMOVED')
    return refused(removedResource, 'The campaign has been removed.', found.requestId);
  const campaign: Target = { row, customerId, campaignId, isSmart: readChannel(row) === 'SMART' };
  const planned = await plan(run, campaign, change);
  if (planned.outcome !== 'read') return planned;
  const { result, requestId } = planned;
  if (result === undefined)
    return refused('not_applicable', 'This field is not available for this campaign type.', requestId);
  return { ...planned, result };
}

/** The platform's error for changes to a removed campaign. */
export const removedResource = 'contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE';

type Run = (query: string) => Promise<Reading<readonly Row[]>>;

interface Target {
  readonly row: Row;
  readonly customerId: string;
  readonly campaignId: string;
  readonly isSmart: boolean;
}

const readChannel = (row: Row): string => getText(row, 'campaign', 'advertisingChannelType');

type Refused = Extract<Change<never>, { outcome: 'refused' }>;

const refused = (code: string, message: string, requestId: string | null): Refused => ({
  outcome: 'refused',
  reasons: [{ kind: 'input', code, message, field: '', operation: undefined }],
  requestId,
});

/** The operations to send. Undefined if this campaign type does not have the field. */
function plan(run: Run, campaign: Target, change: CampaignChange): Promise<Reading<Operation[] | undefined>> {
  switch (change.field) {
    case 'name':
    case 'endDate':
    case 'dailyBudgetMicros':
      return Promise.resolve({ outcome: 'read', result: planOwnField(campaign, change), requestId: null });
    case 'landingPage':
      return campaign.isSmart ? planFinalUrl(run, campaign, change.value) : planFinalUrls(run, campaign, change.value);
    case 'locations':
    case 'excludedLocations':
      return planLocations(run, campaign, change.value, change.field === 'excludedLocations');
    case 'keywordThemes':
      return campaign.isSmart ? planKeywordThemes(run, campaign, change.value) : notApplicable;
    case 'searchThemes':
      return campaign.isSmart ? notApplicable : planSearchThemes(run, campaign, change.value);
    case 'texts':
      return campaign.isSmart ? planSmartTexts(run, campaign, change.value) : planTexts(run, campaign, change.value);
  }
}

const notApplicable: Promise<Reading<undefined>> = Promise.resolve({
  outcome: 'read',
  result: undefined,
  requestId: null,
});

function planOwnField(
  { row }: Target,
  change: Extract<CampaignChange, { field: 'name' | 'endDate' | 'dailyBudgetMicros' }>,
): Operation[] {
  const resourceName = getText(row, 'campaign', 'resourceName');
  if (change.field === 'dailyBudgetMicros') {
    const amountMicros = String(change.value);
    if (getText(row, 'campaignBudget', 'amountMicros') === amountMicros) return [];
    const budget = { resourceName: getText(row, 'campaign', 'campaignBudget'), amountMicros };
    return [{ campaignBudgetOperation: { update: budget, updateMask: 'amountMicros' } }];
  }
  const isName = change.field === 'name';
  const field = isName ? 'name' : 'endDateTime';
  const value = isName || change.value === '' ? change.value : endOfDay(change.value);
  if (getText(row, 'campaign', field) === value) return [];
  // A field that is in the mask but not in the resource is cleared.
  const fields = value === '' ? {} : { [field]: value };
  return [{ campaignOperation: { update: { resourceName, ...fields }, updateMask: field } }];
}

async function planFinalUrl(run: Run, { campaignId, customerId }: Target, value: string): Promise<Planned> {
  const found = await run(
    `SELECT smart_campaign_setting.final_url FROM smart_campaign_setting WHERE ${isCampaign(campaignId)}`,
  );
  return map(found, ([row]) =>
    row !== undefined && getText(row, 'smartCampaignSetting', 'finalUrl') === value
      ? []
      : [updateSetting(namesIn(customerId)('smartCampaignSettings', campaignId), { finalUrl: value })],
  );
}

async function planFinalUrls(run: Run, { campaignId }: Target, value: string): Promise<Planned> {
  return map(await run(groupQuery(campaignId)), (rows) =>
    rows
      .filter(
        (row) =>
          asArray(get(row, 'assetGroup', 'finalUrls'))
            .map(asText)
            .join(' ') !== value,
      )
      .map((row) => ({
        assetGroupOperation: {
          update: { resourceName: getText(row, 'assetGroup', 'resourceName'), finalUrls: [value] },
          updateMask: 'finalUrls',
        },
      })),
  );
}

/** Selects a campaign's asset groups, oldest first. */
export const groupQuery = (campaignId: string): string =>
  `SELECT asset_group.id, asset_group.final_urls FROM asset_group WHERE ${isCampaign(campaignId)} AND ${isKept('asset_group')} ORDER BY asset_group.id`;

const criterionQuery = (campaignId: string, type: string): string =>
  `SELECT campaign.resource_name, campaign_criterion.negative, campaign_criterion.location.geo_target_constant, campaign_criterion.keyword_theme.free_form_keyword_theme FROM campaign_criterion WHERE ${isCampaign(campaignId)} AND campaign_criterion.type = '${type}' AND ${isKept('campaign_criterion')}`;

async function planLocations(
  run: Run,
  { row, campaignId }: Target,
  wanted: readonly string[],
  negative: boolean,
): Promise<Planned> {
  const campaign = getText(row, 'campaign', 'resourceName');
  return map(await run(criterionQuery(campaignId, 'LOCATION')), (rows) => {
    const same = rows.filter((each) => (get(each, 'campaignCriterion', 'negative') === true) === negative);
    return compare(same, wanted, {
      keyOf: (each) => getText(each, 'campaignCriterion', 'location', 'geoTargetConstant'),
      create: (location) => createLocation(campaign, location, negative),
      remove: removeCriterion,
    });
  });
}

async function planKeywordThemes(run: Run, { row, campaignId }: Target, wanted: readonly string[]): Promise<Planned> {
  const campaign = getText(row, 'campaign', 'resourceName');
  return map(await run(criterionQuery(campaignId, 'KEYWORD_THEME')), (rows) => {
    const positive = rows.filter((each) => get(each, 'campaignCriterion', 'negative') !== true);
    return compare(positive, wanted, {
      keyOf: (each) => getText(each, 'campaignCriterion', 'keywordTheme', 'freeFormKeywordTheme'),
      create: (theme) => createKeywordTheme(campaign, theme),
      remove: removeCriterion,
    });
  });
}

const removeCriterion = (row: Row): Operation => ({
  campaignCriterionOperation: { remove: getText(row, 'campaignCriterion', 'resourceName') },
});

async function planSearchThemes(run: Run, { campaignId }: Target, wanted: readonly string[]): Promise<Planned> {
  const [groups, signals] = await Promise.all([
    run(groupQuery(campaignId)),
    run(
      `SELECT asset_group_signal.asset_group, asset_group_signal.search_theme.text FROM asset_group_signal WHERE ${isCampaign(campaignId)}`,
    ),
  ]);
  if (signals.outcome !== 'read') return signals;
  // Other signals, such as audiences, are kept.
  const themes = signals.result.filter((row) => getText(row, 'assetGroupSignal', 'searchTheme', 'text') !== '');
  return map(groups, (rows) =>
    rows.flatMap((row) => {
      const group = getText(row, 'assetGroup', 'resourceName');
      const own = themes.filter((theme) => getText(theme, 'assetGroupSignal', 'assetGroup') === group);
      return compare(own, wanted, {
        keyOf: (theme) => getText(theme, 'assetGroupSignal', 'searchTheme', 'text'),
        create: (theme) => createSearchTheme(group, theme),
        remove: (theme) => ({
          assetGroupSignalOperation: { remove: getText(theme, 'assetGroupSignal', 'resourceName') },
        }),
      });
    }),
  );
}

type Texts = Extract<CampaignChange, { field: 'texts' }>['value'];

async function planSmartTexts(run: Run, { campaignId }: Target, texts: Texts): Promise<Planned> {
  const found = await run(
    `SELECT ad_group_ad.ad.resource_name, ad_group_ad.ad.smart_campaign_ad.headlines, ad_group_ad.ad.smart_campaign_ad.descriptions FROM ad_group_ad WHERE ${isCampaign(campaignId)} AND ${isKept('ad_group_ad')}`,
  );
  const wanted = {
    ...(texts.headlines && { headlines: toSmartTexts(texts.headlines, smartHeadlines) }),
    ...(texts.descriptions && { descriptions: toSmartTexts(texts.descriptions, smartDescriptions) }),
  };
  return map(found, (rows) =>
    rows.flatMap((row) => {
      const changed = Object.entries(wanted).filter(([name, list]) => {
        const present = asArray(get(row, 'adGroupAd', 'ad', 'smartCampaignAd', name));
        return present.map((each) => getText({ each }, 'each', 'text')).join('\n') !== toLines(list);
      });
      if (changed.length === 0) return [];
      const resourceName = getText(row, 'adGroupAd', 'ad', 'resourceName');
      const updateMask = changed.map(([name]) => `smartCampaignAd.${name}`).join(',');
      const update = { resourceName, smartCampaignAd: Object.fromEntries(changed) };
      return [{ adOperation: { update, updateMask } }];
    }),
  );
}

const toLines = (list: readonly { readonly text: string }[]): string => list.map(({ text }) => text).join('\n');

async function planTexts(run: Run, { campaignId, customerId }: Target, texts: Texts): Promise<Planned> {
  const [groups, links] = await Promise.all([run(groupQuery(campaignId)), run(linkQuery(campaignId))]);
  if (links.outcome !== 'read') return links;
  const wanted = { HEADLINE: texts.headlines, LONG_HEADLINE: texts.longHeadlines, DESCRIPTION: texts.descriptions };
  const assets = collectAssets(namesIn(customerId));
  return map(groups, (rows) => {
    const changes = rows.flatMap((row) => {
      const group = getText(row, 'assetGroup', 'resourceName');
      return Object.entries(wanted).flatMap(([fieldType, list]) => {
        if (list === undefined) return [];
        const own = links.result.filter((link) => isLink(link, group, fieldType));
        return compare(own, list, {
          keyOf: (link) => getText(link, 'asset', 'textAsset', 'text'),
          create: (text) => linkToGroup(group, assets.add(toTextAsset(text)), fieldType),
          remove: (link) => ({
            assetGroupAssetOperation: { remove: getText(link, 'assetGroupAsset', 'resourceName') },
          }),
        });
      });
    });
    return [...assets.operations, ...changes];
  });
}

/** Selects the assets attached to a campaign's asset groups. */
export const linkQuery = (campaignId: string): string =>
  `SELECT asset_group_asset.asset_group, asset_group_asset.field_type, asset.name, asset.text_asset.text FROM asset_group_asset WHERE ${isCampaign(campaignId)} AND ${isKept('asset_group_asset')}`;

export const isLink = (row: Row, group: string, fieldType: string): boolean =>
  getText(row, 'assetGroupAsset', 'assetGroup') === group && getText(row, 'assetGroupAsset', 'fieldType') === fieldType;

type Planned = Reading<Operation[]>;

function map(found: Reading<readonly Row[]>, toOperations: (rows: readonly Row[]) => Operation[]): Planned {
  return found.outcome === 'read' ? { ...found, result: toOperations(found.result) } : found;
}

/** Creates missing items, then removes unwanted ones. */
function compare(
  rows: readonly Row[],
  wanted: readonly string[],
  how: { keyOf(row: Row): string; create(key: string): Operation; remove(row: Row): Operation },
): Operation[] {
  const present = new Set(rows.map(how.keyOf));
  const wantedKeys = new Set(wanted);
  return [
    ...[...wantedKeys].filter((key) => !present.has(key)).map(how.create),
    ...rows.filter((row) => !wantedKeys.has(how.keyOf(row))).map(how.remove),
  ];
}
