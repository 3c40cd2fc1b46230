// The ad platform's resource kinds: how each kind is named, and the conditions it must satisfy.
import { assetKinds } from './assets.ts';
import { refuse } from './errors.ts';
import {
  type ChangeContext,
  createdNow,
  idOf,
  isUncrawlable,
  missing,
  type ResourceKind,
  refuseTakenName,
  requireReference,
  toSnake,
} from './kinds.ts';
import type { Resource } from './state.ts';

const kinds: readonly ResourceKind[] = [
  {
    collection: 'campaignBudgets',
    name: 'campaignBudget',
    id: (_budget, newId) => newId(),
    keepsRemoved: true,
    create(budget, context) {
      // A budget that is not shared is named after its campaign.
      const { name, ...unnamed } = budget;
      const isShared = budget.explicitlyShared !== false && budget.type !== 'SMART_CAMPAIGN';
      checkAmount(budget, context);
      if (isShared && name === undefined) throw missing(context, 'name');
      if (name !== undefined && budget.explicitlyShared !== false)
        refuseTakenName(context, 'campaignBudgets', 'name', name, 'campaignBudgetError.DUPLICATE_NAME');
      const kept = budget.explicitlyShared === false ? (unnamed as Resource) : budget;
      return { deliveryMethod: 'STANDARD', explicitlyShared: isShared, status: 'ENABLED', ...kept };
    },
    update: (budget, context) => checkAmount(budget, context),
  },
  {
    collection: 'campaigns',
    name: 'campaign',
    id: (_campaign, newId) => newId(),
    keepsRemoved: true,
    create: createCampaign,
    update(campaign, context, before) {
      if (before.status === 'REMOVED')
        throw refuse(
          'contextError.OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE',
          'The campaign is removed.',
          context.field,
        );
      if (campaign.name !== before.name)
        refuseTakenName(context, 'campaigns', 'name', campaign.name, 'campaignError.DUPLICATE_CAMPAIGN_NAME');
      checkDates(campaign, context);
      if (campaign.status !== before.status)
        campaign._statuses = [
          ...(before._statuses as object[]),
          { at: context.now.toISOString(), status: campaign.status },
        ];
    },
  },
  {
    // The settings are created with the campaign and can only be updated.
    collection: 'smartCampaignSettings',
    name: 'smartCampaignSetting',
    id: (setting) => idOf(setting.campaign),
    update(setting, context) {
      if (!setting.businessName && !setting.businessProfileLocation)
        throw refuse(
          'smartCampaignError.BUSINESS_NAME_OR_BUSINESS_LOCATION_ID_MISSING',
          'The business name is required.',
          context.field,
        );
      if (isUncrawlable(setting.finalUrl as string | undefined))
        throw refuse(
          'smartCampaignError.FINAL_URL_NOT_CRAWLABLE',
          'The final URL could not be crawled.',
          context.field,
        );
    },
  },
  {
    collection: 'campaignCriteria',
    name: 'campaignCriterion',
    id: ({ campaign }, newId) => `${idOf(campaign)}~${newId()}`,
    keepsRemoved: true,
    create(criterion, context) {
      requireReference(context, criterion, 'campaign');
      const kind = ['location', 'language', 'keywordTheme', 'proximity'].find((name) => criterion[name] !== undefined);
      if (kind === undefined) throw missing(context, 'criterion');
      return { negative: false, status: 'ENABLED', ...criterion, type: toConstant(kind) };
    },
  },
  ...assetKinds,
  {
    collection: 'adGroups',
    name: 'adGroup',
    id: (_group, newId) => newId(),
    keepsRemoved: true,
    create(group, context) {
      requireReference(context, group, 'campaign');
      if (!group.name) throw missing(context, 'name');
      refuseTakenName(context, 'adGroups', 'name', group.name, 'adGroupError.DUPLICATE_ADGROUP_NAME', group.campaign);
      return { status: 'ENABLED', ...group };
    },
  },
  {
    collection: 'adGroupAds',
    name: 'adGroupAd',
    id: ({ adGroup }, newId) => `${idOf(adGroup)}~${newId()}`,
    keepsRemoved: true,
    create(ad, context) {
      requireReference(context, ad, 'adGroup');
      const content = (ad.ad ?? {}) as Resource;
      checkSmartAd(content, context);
      // The ad is a separate resource that can be updated.
      const resourceName = `customers/${context.customerId}/ads/${context.draft.newId()}`;
      context.draft.put({ ...content, resourceName });
      return { status: 'ENABLED', ...ad, ad: { resourceName }, ...createdNow(context) };
    },
  },
  {
    // Ads are created together with their link to the ad group.
    collection: 'ads',
    name: 'ad',
    id: (_ad, newId) => newId(),
    update: checkSmartAd,
  },
  {
    collection: 'conversionActions',
    name: 'conversionAction',
    id: (_action, newId) => newId(),
    keepsRemoved: true,
    create(action, context) {
      if (!action.name) throw missing(context, 'name');
      refuseTakenName(context, 'conversionActions', 'name', action.name, 'conversionActionError.DUPLICATE_NAME');
      startConversionTracking(context);
      return { status: 'ENABLED', category: 'DEFAULT', ...action, _createdAt: context.now.toISOString() };
    },
  },
];

export const kindByCollection = new Map(kinds.map((kind) => [kind.collection, kind]));
export const kindByOperation = new Map(kinds.map((kind) => [`${kind.name}Operation`, kind]));

const euDeclarations = ['CONTAINS_EU_POLITICAL_ADVERTISING', 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING'];

function checkSmartAd({ smartCampaignAd: ad }: Resource, { field }: ChangeContext): void {
  const { headlines, descriptions } = (ad ?? {}) as { headlines?: unknown[]; descriptions?: unknown[] };
  if (ad !== undefined && (headlines?.length !== 3 || descriptions?.length !== 2))
    throw refuse('fieldError.REQUIRED', 'Three headlines and two descriptions are required.', `${field}.ad`);
}

/** The times have no offset. They are in the account's time zone. */
function checkDates({ startDateTime, endDateTime }: Resource, { field }: ChangeContext): void {
  const isTime = (time: unknown) => time === undefined || /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(String(time));
  if (!isTime(startDateTime) || !isTime(endDateTime))
    throw refuse('dateError.INVALID_STRING_DATE_TIME', 'The time is not valid.', field);
  if (startDateTime !== undefined && endDateTime !== undefined && String(endDateTime) < String(startDateTime))
    throw refuse('dateRangeError.INVALID_DATE', 'The end is before the start.', `${field}.end_date_time`);
}

function createCampaign(campaign: Resource, context: ChangeContext): Resource {
  const { draft, customerId, field } = context;
  if (!campaign.name) throw missing(context, 'name');
  const isSmart = campaign.advertisingChannelType === 'SMART';
  if (isSmart && !context.acceptsSmartCreation)
    throw refuse('smartCampaignError.CREATION_FAILED', 'Smart campaigns can no longer be created.', field);
  if (!['SMART', 'PERFORMANCE_MAX', 'SEARCH'].includes(String(campaign.advertisingChannelType)))
    throw missing(context, 'advertising_channel_type');
  refuseTakenName(context, 'campaigns', 'name', campaign.name, 'campaignError.DUPLICATE_CAMPAIGN_NAME');
  const budget = requireReference(context, campaign, 'campaignBudget');
  if (campaign.advertisingChannelType === 'PERFORMANCE_MAX' && budget.explicitlyShared === true)
    throw refuse(
      'campaignError.CAMPAIGN_CANNOT_USE_SHARED_BUDGET',
      'The budget is shared.',
      `${field}.campaign_budget`,
    );
  if (!euDeclarations.includes(String(campaign.containsEuPoliticalAdvertising)))
    throw missing(context, 'contains_eu_political_advertising');
  checkDates(campaign, context);
  const status = campaign.status ?? 'ENABLED';
  if (isSmart)
    draft.put({
      resourceName: `customers/${customerId}/smartCampaignSettings/${idOf(campaign.resourceName)}`,
      campaign: campaign.resourceName,
    });
  return {
    ...(campaign.advertisingChannelType === 'PERFORMANCE_MAX' && { brandGuidelinesEnabled: true }),
    ...campaign,
    status,
    _statuses: [{ at: context.now.toISOString(), status }],
    _createdAt: context.now.toISOString(),
  };
}

const wholeUnits = new Set(['JPY', 'KRW']);

/** The platform's minimum is one unit of the currency, or 100 units if the currency has no cents. */
function checkAmount(budget: Resource, { draft, customerId, field }: ChangeContext): void {
  const currencyCode = String(draft.get(`customers/${customerId}`)?.currencyCode);
  const amount = BigInt(String(budget.amountMicros ?? 0));
  const step = wholeUnits.has(currencyCode) ? 1_000_000n : 10_000n;
  const minimum = wholeUnits.has(currencyCode) ? 100_000_000n : 1_000_000n;
  const at = `${field}.amount_micros`;
  if (amount % step !== 0n)
    throw refuse(
      'campaignBudgetError.NON_MULTIPLE_OF_MINIMUM_CURRENCY_UNIT',
      'Not a multiple of the smallest unit.',
      at,
    );
  if (amount >= minimum) return;
  throw refuse('campaignBudgetError.BUDGET_BELOW_PER_DAY_MINIMUM', 'The budget is too low.', at, {
    budgetPerDayMinimumErrorDetails: {
      currencyCode,
      budgetPerDayMinimumMicros: String(minimum),
      failedBudgetAmountMicros: String(amount),
    },
  });
}

/** An account gets its tag id with its first conversion action. */
function startConversionTracking({ draft, customerId }: ChangeContext): void {
  const customer = draft.get(`customers/${customerId}`);
  if (customer === undefined || customer.conversionTrackingSetting !== undefined) return;
  const conversionTrackingSetting = {
    conversionTrackingId: draft.newId(),
    conversionTrackingStatus: 'CONVERSION_TRACKING_MANAGED_BY_SELF',
  };
  draft.put({ ...customer, conversionTrackingSetting });
}

const toConstant = (name: string): string => toSnake(name).toUpperCase();
