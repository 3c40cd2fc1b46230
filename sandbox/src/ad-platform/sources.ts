// The resources that queries can select from, their related resources, and the fields that a query can name.
import { dayOf, draw, endOf } from './serving.ts';
import type { Resource, State } from './state.ts';

export interface RowContext {
  readonly state: State;
  readonly customerId: string;
  readonly now: Date;
  /** The time from a conversion action's creation until it has tags. */
  readonly tagDelayMs: number;
  /** The time from an account's creation until queries return it. */
  readonly clientDelayMs: number;
}

/** Resources by their names in queries, such as `{ campaign: …, campaign_budget: … }`. */
export type Row = Record<string, Resource | Record<string, unknown>>;

export interface Source {
  /** The fields that a query can name, by resource. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  list(context: RowContext): Row[];
}

const customerFields =
  'id resource_name descriptive_name status currency_code time_zone manager conversion_tracking_setting.conversion_tracking_id'.split(
    ' ',
  );
const campaignFields =
  'id resource_name name status serving_status primary_status primary_status_reasons advertising_channel_type advertising_channel_sub_type campaign_budget start_date_time end_date_time contains_eu_political_advertising brand_guidelines_enabled'.split(
    ' ',
  );
const budgetFields = 'id resource_name name amount_micros status type explicitly_shared'.split(' ');
const groupFields = 'id resource_name name status campaign final_urls'.split(' ');
const assetFields =
  'id resource_name name type text_asset.text call_asset.phone_number image_asset.full_size.url policy_summary.review_status policy_summary.approval_status'.split(
    ' ',
  );
export const metricFields = ['impressions', 'clicks', 'cost_micros', 'conversions'];
const served = { metrics: metricFields, segments: ['date'] };

export const sources: Readonly<Record<string, Source>> = {
  customer: { fields: { customer: customerFields }, list: (context) => [{ customer: presentCustomer(context) }] },
  customer_client: {
    fields: {
      customer_client:
        'id resource_name client_customer descriptive_name status currency_code time_zone level manager'.split(' '),
    },
    list: ({ state, customerId, now, clientDelayMs }) =>
      state
        .listCustomers()
        .filter(({ id, _manager }) => id === customerId || _manager === customerId)
        .filter(({ _createdAt }) => !(Date.parse(String(_createdAt)) > now.getTime() - clientDelayMs))
        .map((client) => ({
          customer_client: {
            ...client,
            resourceName: `customers/${customerId}/customerClients/${client.id}`,
            clientCustomer: client.resourceName,
            level: client.id === customerId ? '0' : '1',
          },
        })),
  },
  billing_setup: {
    fields: { billing_setup: ['id', 'resource_name', 'status'] },
    list: ({ state, customerId }) =>
      state.list(customerId, 'billingSetups').map((setup) => ({ billing_setup: withId(setup) })),
  },
  campaign: {
    fields: { campaign: campaignFields, campaign_budget: budgetFields, customer: customerFields, ...served },
    list: (context) => listCampaigns(context).map((campaign) => withBudget(context, campaign)),
  },
  campaign_budget: {
    fields: { campaign_budget: budgetFields },
    list: ({ state, customerId }) =>
      state.list(customerId, 'campaignBudgets').map((budget) => ({ campaign_budget: withId(budget) })),
  },
  campaign_criterion: {
    fields: {
      campaign_criterion:
        'resource_name campaign type negative status location.geo_target_constant language.language_constant keyword_theme.free_form_keyword_theme keyword_theme.keyword_theme_constant'.split(
          ' ',
        ),
      campaign: campaignFields,
    },
    list: (context) => listOfCampaign(context, 'campaignCriteria', 'campaign_criterion'),
  },
  smart_campaign_setting: {
    fields: {
      smart_campaign_setting: 'resource_name campaign final_url business_name advertising_language_code'.split(' '),
      campaign: campaignFields,
    },
    list: (context) => listOfCampaign(context, 'smartCampaignSettings', 'smart_campaign_setting'),
  },
  campaign_asset: {
    fields: {
      campaign_asset: 'resource_name asset campaign field_type status'.split(' '),
      asset: assetFields,
      campaign: campaignFields,
    },
    list: (context) =>
      listOfCampaign(context, 'campaignAssets', 'campaign_asset').map((row) => ({
        ...row,
        asset: presentAsset(context, String(row.campaign_asset?.asset)),
      })),
  },
  ad_group_ad: {
    fields: {
      ad_group_ad:
        'resource_name ad_group status policy_summary.review_status policy_summary.approval_status ad.resource_name ad.smart_campaign_ad.headlines ad.smart_campaign_ad.descriptions'.split(
          ' ',
        ),
      campaign: campaignFields,
    },
    list: listAds,
  },
  asset_group: {
    fields: { asset_group: groupFields, campaign: campaignFields },
    list: (context) => listOfCampaign(context, 'assetGroups', 'asset_group'),
  },
  asset_group_asset: {
    fields: {
      asset_group_asset:
        'resource_name asset asset_group field_type status policy_summary.review_status policy_summary.approval_status'.split(
          ' ',
        ),
      asset_group: groupFields,
      asset: assetFields,
      campaign: campaignFields,
    },
    list: (context) =>
      listOfGroup(context, 'assetGroupAssets', 'asset_group_asset').map((row) => ({
        ...row,
        asset_group_asset: { ...row.asset_group_asset, ...review(context, row.asset_group_asset) },
        asset: presentAsset(context, String(row.asset_group_asset?.asset)),
      })),
  },
  asset_group_signal: {
    fields: {
      asset_group_signal: 'resource_name asset_group search_theme.text approval_status'.split(' '),
      asset_group: groupFields,
      campaign: campaignFields,
    },
    list: (context) => listOfGroup(context, 'assetGroupSignals', 'asset_group_signal'),
  },
  conversion_action: {
    fields: { conversion_action: 'id resource_name name category status type tag_snippets'.split(' ') },
    list: (context) =>
      context.state
        .list(context.customerId, 'conversionActions')
        .map((action) => ({ conversion_action: presentConversionAction(context, action) })),
  },
  search_term_view: termView('search_term_view', ['SEARCH'], metricFields),
  campaign_search_term_view: termView('campaign_search_term_view', ['PERFORMANCE_MAX', 'SEARCH'], metricFields),
  smart_campaign_search_term_view: termView(
    'smart_campaign_search_term_view',
    ['SMART'],
    metricFields.filter((name) => name !== 'conversions'),
  ),
};

/** A search term view covers only campaigns in these channels. The search network's view excludes Performance Max. */
function termView(name: string, channels: readonly string[], metrics: readonly string[]): Source {
  return {
    fields: { [name]: ['resource_name', 'search_term', 'campaign'], campaign: campaignFields, ...served, metrics },
    list: (context) =>
      listCampaigns(context)
        .filter(({ advertisingChannelType }) => channels.includes(String(advertisingChannelType)))
        .flatMap((campaign) =>
          listTerms(context, campaign).map((searchTerm) => ({
            ...withBudget(context, campaign),
            [name]: { searchTerm, campaign: campaign.resourceName },
          })),
        ),
  };
}

const dayMs = 24 * 60 * 60 * 1000;

const withId = (resource: Resource): Resource => ({ ...resource, id: resource.resourceName.split('/').at(-1) });

const presentCustomer = ({ state, customerId }: RowContext): Resource =>
  state.get(`customers/${customerId}`) ?? { resourceName: '' };

const listCampaigns = ({ state, customerId }: RowContext) => state.list(customerId, 'campaigns');

const ageOf = ({ now }: RowContext, { _createdAt }: Record<string, unknown>): number =>
  now.getTime() - Date.parse(String(_createdAt));

const reviewMs = 60_000;

/** An asset's or ad's review status. */
const review = (context: RowContext, resource: Record<string, unknown> = {}) => ({
  policySummary:
    ageOf(context, resource) >= reviewMs
      ? { reviewStatus: 'REVIEWED', approvalStatus: 'APPROVED' }
      : { reviewStatus: 'REVIEW_IN_PROGRESS', approvalStatus: 'UNKNOWN' },
});

function presentAsset(context: RowContext, name: string): Resource {
  const asset = context.state.get(name) ?? { resourceName: name };
  return { ...withId(asset), ...review(context, asset) };
}

/** A campaign is under review for a minute and in its learning phase for two weeks. */
function presentCampaign(context: RowContext, campaign: Resource): Resource {
  const ageMs = ageOf(context, campaign);
  const status = String(campaign.status);
  const isReviewed = ageMs >= reviewMs;
  const hasEnded = status !== 'REMOVED' && endOf(campaign) < dayOf(context.now, timeZoneOf(context));
  const primaryStatus = hasEnded
    ? 'ENDED'
    : status !== 'ENABLED'
      ? status
      : !isReviewed
        ? 'PENDING'
        : ageMs < 14 * dayMs
          ? 'LEARNING'
          : 'ELIGIBLE';
  const reasons = {
    PAUSED: ['CAMPAIGN_PAUSED'],
    REMOVED: ['CAMPAIGN_REMOVED'],
    PENDING: ['MOST_ASSET_GROUPS_UNDER_REVIEW'],
    LEARNING: ['BIDDING_STRATEGY_LEARNING'],
    ENDED: ['CAMPAIGN_ENDED'],
  };
  return {
    ...withId(campaign),
    servingStatus: hasEnded ? 'ENDED' : status !== 'ENABLED' ? 'NONE' : isReviewed ? 'SERVING' : 'PENDING',
    primaryStatus,
    primaryStatusReasons: reasons[primaryStatus as keyof typeof reasons] ?? [],
  };
}

const timeZoneOf = ({ state, customerId }: RowContext): string =>
  String(state.get(`customers/${customerId}`)?.timeZone);

function withBudget(context: RowContext, campaign: Resource): Row {
  const budget = context.state.get(String(campaign.campaignBudget));
  return {
    campaign: presentCampaign(context, campaign),
    customer: presentCustomer(context),
    ...(budget && { campaign_budget: withId(budget) }),
  };
}

function listOfCampaign(context: RowContext, collection: string, name: string): Row[] {
  return context.state.list(context.customerId, collection).flatMap((resource) => {
    const campaign = context.state.get(String(resource.campaign));
    return campaign === undefined ? [] : [{ [name]: withId(resource), campaign: presentCampaign(context, campaign) }];
  });
}

function listOfGroup(context: RowContext, collection: string, name: string): Row[] {
  return context.state.list(context.customerId, collection).flatMap((resource) => {
    const group = context.state.get(String(resource.assetGroup));
    const campaign = context.state.get(String(group?.campaign));
    if (group === undefined || campaign === undefined) return [];
    return [{ [name]: resource, asset_group: withId(group), campaign: presentCampaign(context, campaign) }];
  });
}

function listAds(context: RowContext): Row[] {
  return context.state.list(context.customerId, 'adGroupAds').flatMap((link) => {
    const campaign = context.state.get(String(context.state.get(String(link.adGroup))?.campaign));
    if (campaign === undefined) return [];
    const ad = context.state.get((link.ad as Resource).resourceName);
    return [{ ad_group_ad: { ...link, ...review(context, link), ad }, campaign: presentCampaign(context, campaign) }];
  });
}

function presentConversionAction({ state, customerId, now, tagDelayMs }: RowContext, action: Resource): Resource {
  const { conversionTrackingSetting } = state.get(`customers/${customerId}`) as unknown as {
    conversionTrackingSetting?: { conversionTrackingId: string };
  };
  const isPublished = now.getTime() - Date.parse(String(action._createdAt)) >= tagDelayMs;
  const tag = `AW-${conversionTrackingSetting?.conversionTrackingId}`;
  const label = Math.floor(draw(action.resourceName, 'label') * 1e15).toString(36);
  const eventSnippet = `<script>\n  gtag('event', 'conversion', {'send_to': '${tag}/${label}'});\n</script>\n`;
  const globalSiteTag = `<script async src="https://www.googletagmanager.com/gtag/js?id=${tag}"></script>\n<script>\n  gtag('config', '${tag}');\n</script>\n`;
  return {
    ...withId(action),
    ...(isPublished && { tagSnippets: [{ type: 'WEBPAGE', pageFormat: 'HTML', globalSiteTag, eventSnippet }] }),
  };
}

/** Simulates search terms: variations of the campaign's themes, or of its name. */
export function listTerms({ state, customerId }: RowContext, campaign: Resource): string[] {
  const groups = new Set(
    state
      .list(customerId, 'assetGroups')
      .filter((group) => group.campaign === campaign.resourceName)
      .map(({ resourceName }) => resourceName),
  );
  const themes = [
    ...state
      .list(customerId, 'campaignCriteria')
      .filter((each) => each.campaign === campaign.resourceName && each.status !== 'REMOVED')
      .map((each) => (each.keywordTheme as { freeFormKeywordTheme?: string } | undefined)?.freeFormKeywordTheme),
    ...state
      .list(customerId, 'assetGroupSignals')
      .filter((each) => groups.has(String(each.assetGroup)))
      .map((each) => (each.searchTheme as { text?: string } | undefined)?.text),
  ].flatMap((theme) => theme ?? []);
  const words = themes.length > 0 ? themes : [String(campaign.name).replace(/ \[\w+\]$/, '')];
  return [
    ...new Set(words.flatMap((word) => [word, `${word} near me`, `best ${word}`].map((term) => term.toLowerCase()))),
  ];
}
