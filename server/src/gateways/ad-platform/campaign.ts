// Owns the types of campaigns at the ad platform, and what can be asked of them.
import type { Change, Reading } from './outcome.ts';

export interface PlatformCampaigns {
  /**
   * Creates it paused, in one request that is applied wholly or not at all. A name that a live campaign has is refused with
   * `duplicate_name`. With `validateOnly` nothing is created, and the id is empty.
   */
  create(
    customerId: string,
    campaign: NewCampaign,
    options?: SendOptions & { validateOnly?: true },
  ): Promise<Change<{ readonly campaignId: string }>>;
  /** Those with exactly this name that are not removed. */
  findByName(customerId: string, name: string): Promise<Reading<readonly PlatformCampaign[]>>;
  /** Null if the account has no such campaign. Removed ones are found. `timeoutMs`: somebody waits for it. */
  read(customerId: string, campaignId: string, timeoutMs?: number): Promise<Reading<PlatformCampaign | null>>;
  /** All campaigns of the account, removed ones too. */
  list(
    customerId: string,
  ): Promise<Reading<{ readonly campaigns: readonly PlatformCampaign[]; readonly isTruncated: boolean }>>;
  /** Applied also if it has the status already. Refused for a removed campaign. */
  setStatus(
    customerId: string,
    campaignId: string,
    status: 'ENABLED' | 'PAUSED',
    options?: SendOptions,
  ): Promise<Change<unknown>>;
  /** For ever. Applied also if it is removed already. */
  remove(customerId: string, campaignId: string, options?: SendOptions): Promise<Change<unknown>>;
  /** Reads what the campaign has, and sends only the difference. Repeating it is harmless. */
  update(
    customerId: string,
    campaignId: string,
    change: CampaignChange,
    options?: SendOptions,
  ): Promise<Change<unknown>>;
  /** Adds a text or an image to the first asset group, unless it has it already. */
  addAsset(
    customerId: string,
    campaignId: string,
    asset: NewAsset,
    options?: SendOptions,
  ): Promise<Change<{ readonly resourceNames: readonly string[] }>>;
  /** What is attached to the asset groups of a campaign, and to the campaign itself. */
  listAssets(
    customerId: string,
    campaignId: string,
    timeoutMs?: number,
  ): Promise<Reading<{ readonly assets: readonly AttachedAsset[]; readonly isTruncated: boolean }>>;
  /** Since the campaigns were created. Campaigns without impressions are missing. */
  readMetrics(customerId: string): Promise<Reading<ReadonlyMap<string, CampaignMetrics>>>;
  /** Highest impressions first. `from` and `to` are days: `2026-11-16`. */
  listSearchTerms(
    customerId: string,
    source: SearchTermSource,
    range: { readonly from: string; readonly to: string },
    timeoutMs?: number,
  ): Promise<Reading<{ readonly rows: readonly SearchTerm[]; readonly isTruncated: boolean }>>;
}

export interface SendOptions {
  /** Nothing is sent after this time, and nobody waits for an answer (`performance.now()`). */
  readonly notAfter?: number;
}

export type PlatformCampaignType = 'SMART' | 'PERFORMANCE_MAX';

export interface NewCampaign {
  /** Unique among the live campaigns of the account. The budget gets the same name. */
  readonly name: string;
  readonly type: PlatformCampaignType;
  readonly dailyBudgetMicros: number;
  readonly landingPage: string;
  readonly businessName: string;
  readonly languageCode: string;
  /** `geoTargetConstants/1023191` */
  readonly locations: readonly string[];
  readonly excludedLocations: readonly string[];
  /** In the form of E.164, or empty. */
  readonly phoneNumber: string;
  /** Of a Smart campaign. */
  readonly keywordThemes: readonly string[];
  /** Of a Performance Max campaign. */
  readonly searchThemes: readonly string[];
  /** A Smart campaign uses the first three headlines and two descriptions. */
  readonly headlines: readonly string[];
  readonly longHeadlines: readonly string[];
  readonly descriptions: readonly string[];
  /** Of a Performance Max campaign. */
  readonly logo?: Uint8Array;
  readonly marketingImages: readonly Uint8Array[];
  readonly squareImages: readonly Uint8Array[];
  /** Days in the time zone of the account. */
  readonly startDate?: string;
  readonly endDate?: string;
  readonly euPoliticalAdvertising: 'CONTAINS_EU_POLITICAL_ADVERTISING' | 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING';
}

export interface PlatformCampaign {
  readonly id: string;
  readonly name: string;
  /** Undefined for a type that Plinth does not know, such as a search campaign that somebody made by hand. */
  readonly type: PlatformCampaignType | undefined;
  /** The platform's words. */
  readonly status: string;
  readonly servingStatus: string;
  readonly primaryStatus: string;
  readonly primaryStatusReasons: readonly string[];
  /** That of its ads or assets, the least reviewed one; empty if it has none. */
  readonly reviewStatus: string;
  readonly dailyBudgetMicros: number;
  /** Empty if it has none. */
  readonly landingPage: string;
  readonly locations: readonly string[];
  readonly excludedLocations: readonly string[];
}

export type CampaignChange =
  | { readonly field: 'name'; readonly value: string }
  | { readonly field: 'dailyBudgetMicros'; readonly value: number }
  | { readonly field: 'landingPage'; readonly value: string }
  /** A day, or empty for none. */
  | { readonly field: 'endDate'; readonly value: string }
  | {
      readonly field: 'locations' | 'excludedLocations' | 'keywordThemes' | 'searchThemes';
      readonly value: readonly string[];
    }
  /** Those that are missing stay as they are. */
  | {
      readonly field: 'texts';
      readonly value: {
        readonly headlines?: readonly string[];
        readonly longHeadlines?: readonly string[];
        readonly descriptions?: readonly string[];
      };
    };

/** The platform keeps one asset for each content. */
export type NewAsset = { readonly fieldType: string } & ({ readonly text: string } | { readonly image: Uint8Array });

export interface AttachedAsset {
  /** Of the link between the asset and what it is attached to. */
  readonly resourceName: string;
  readonly fieldType: string;
  readonly text: string | null;
  readonly imageUrl: string | null;
  /** Empty for what is attached to the campaign itself. */
  readonly assetGroupName: string;
  readonly approvalStatus: string;
}

export interface CampaignMetrics {
  readonly impressions: number;
  readonly clicks: number;
  readonly costMicros: number;
  readonly conversions: number;
}

/** The platform has a view of its own for each. */
export type SearchTermSource = 'search' | 'performance_max' | 'smart';

export interface SearchTerm extends CampaignMetrics {
  readonly term: string;
  readonly campaignId: string;
  /** The name at the platform. */
  readonly campaignName: string;
}
