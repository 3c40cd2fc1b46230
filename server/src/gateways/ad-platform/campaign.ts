// The types for campaigns on the ad platform, and the operations on them.
import type { Change, Reading } from './outcome.ts';

export interface PlatformCampaigns {
  /**
   * Creates the campaign paused, in one request that is applied completely or not at all. A live campaign's name is
   * refused with `duplicate_name`. With `validateOnly` nothing is created, and the id is empty.
   */
  create(
    customerId: string,
    campaign: NewCampaign,
    options?: SendOptions & { validateOnly?: true },
  ): Promise<Change<{ readonly campaignId: string }>>;
  /** The campaigns with exactly this name that have not been removed. */
  findByName(customerId: string, name: string): Promise<Reading<readonly PlatformCampaign[]>>;
  /**
   * Null if the account has no such campaign. Removed campaigns are included. Set `timeoutMs` if a person is waiting
   * for the result.
   */
  read(customerId: string, campaignId: string, timeoutMs?: number): Promise<Reading<PlatformCampaign | null>>;
  /** All campaigns in the account, including removed ones. */
  list(
    customerId: string,
  ): Promise<Reading<{ readonly campaigns: readonly PlatformCampaign[]; readonly isTruncated: boolean }>>;
  /** Applied even if the campaign already has the status. Refused for a removed campaign. */
  setStatus(
    customerId: string,
    campaignId: string,
    status: 'ENABLED' | 'PAUSED',
    options?: SendOptions,
  ): Promise<Change<unknown>>;
  /** Removes the campaign permanently. Applied even if it has already been removed. */
  remove(customerId: string, campaignId: string, options?: SendOptions): Promise<Change<unknown>>;
  /** Reads the campaign's current state, and sends only the difference. Repeating an update is harmless. */
  update(
    customerId: string,
    campaignId: string,
    change: CampaignChange,
    options?: SendOptions,
  ): Promise<Change<unknown>>;
  /** Whether the campaign already has the value, so an update would send nothing. */
  hasValue(
    customerId: string,
    campaignId: string,
    change: CampaignChange,
    timeoutMs: number,
  ): Promise<Reading<boolean>>;
  /** Adds a text or an image to the first asset group, unless the group already has it. */
  addAsset(
    customerId: string,
    campaignId: string,
    asset: NewAsset,
    options?: SendOptions,
  ): Promise<Change<{ readonly resourceNames: readonly string[] }>>;
  /** The assets attached to the campaign and to its asset groups. */
  listAssets(
    customerId: string,
    campaignId: string,
    timeoutMs?: number,
  ): Promise<Reading<{ readonly assets: readonly AttachedAsset[]; readonly isTruncated: boolean }>>;
  /** The metrics since the campaigns were created. Campaigns without impressions are omitted. */
  readMetrics(customerId: string): Promise<Reading<ReadonlyMap<string, CampaignMetrics>>>;
  /** Sorted by impressions, highest first. `from` and `to` are days, such as `2026-11-16`. */
  listSearchTerms(
    customerId: string,
    source: SearchTermSource,
    range: { readonly from: string; readonly to: string },
    timeoutMs?: number,
  ): Promise<Reading<{ readonly rows: readonly SearchTerm[]; readonly isTruncated: boolean }>>;
}

export interface SendOptions {
  /** A `performance.now()` time. After it, nothing is sent and the call stops waiting for a response. */
  readonly notAfter?: number;
}

export type PlatformCampaignType = 'SMART' | 'PERFORMANCE_MAX';

export interface NewCampaign {
  /** Unique among the account's live campaigns. The budget gets the same name. */
  readonly name: string;
  readonly type: PlatformCampaignType;
  readonly dailyBudgetMicros: number;
  readonly landingPage: string;
  readonly businessName: string;
  readonly languageCode: string;
  /** Example: `geoTargetConstants/1023191`. */
  readonly locations: readonly string[];
  readonly excludedLocations: readonly string[];
  /** A number in E.164 format, or empty. */
  readonly phoneNumber: string;
  /** Only for Smart campaigns. */
  readonly keywordThemes: readonly string[];
  /** Only for Performance Max campaigns. */
  readonly searchThemes: readonly string[];
  /** A Smart campaign uses the first three headlines and two descriptions. */
  readonly headlines: readonly string[];
  readonly longHeadlines: readonly string[];
  readonly descriptions: readonly string[];
  /** Only for Performance Max campaigns. */
  readonly logo?: Uint8Array;
  readonly marketingImages: readonly Uint8Array[];
  readonly squareImages: readonly Uint8Array[];
  /** Days in the account's time zone. */
  readonly startDate?: string;
  readonly endDate?: string;
  readonly euPoliticalAdvertising: 'CONTAINS_EU_POLITICAL_ADVERTISING' | 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING';
}

export interface PlatformCampaign {
  readonly id: string;
  readonly name: string;
  /** Undefined for a type that Plinth does not know, such as a manually created search campaign. */
  readonly type: PlatformCampaignType | undefined;
  /** These use the platform's own values. */
  readonly status: string;
  readonly servingStatus: string;
  readonly primaryStatus: string;
  readonly primaryStatusReasons: readonly string[];
  /** The status of the least reviewed ad or asset. Empty if the campaign has none. */
  readonly reviewStatus: string;
  readonly dailyBudgetMicros: number;
  /** Empty if the campaign has none. */
  readonly landingPage: string;
  readonly locations: readonly string[];
  readonly excludedLocations: readonly string[];
}

export type CampaignChange =
  | { readonly field: 'name'; readonly value: string }
  | { readonly field: 'dailyBudgetMicros'; readonly value: number }
  | { readonly field: 'landingPage'; readonly value: string }
  /** A day, or empty for no end date. */
  | { readonly field: 'endDate'; readonly value: string }
  | {
      readonly field: 'locations' | 'excludedLocations' | 'keywordThemes' | 'searchThemes';
      readonly value: readonly string[];
    }
  /** Omitted texts remain unchanged. */
  | {
      readonly field: 'texts';
      readonly value: {
        readonly headlines?: readonly string[];
        readonly longHeadlines?: readonly string[];
        readonly descriptions?: readonly string[];
      };
    };

/** The platform stores identical content as one asset. */
export type NewAsset = { readonly fieldType: string } & ({ readonly text: string } | { readonly image: Uint8Array });

export interface AttachedAsset {
  /** The name of the link between the asset and the resource that it is attached to. */
  readonly resourceName: string;
  readonly fieldType: string;
  readonly text: string | null;
  readonly imageUrl: string | null;
  /** Empty for assets attached to the campaign itself. */
  readonly assetGroupName: string;
  readonly approvalStatus: string;
}

export interface CampaignMetrics {
  readonly impressions: number;
  readonly clicks: number;
  readonly costMicros: number;
  readonly conversions: number;
}

/** The platform has a separate view for each source. */
export type SearchTermSource = 'search' | 'performance_max' | 'smart';

export interface SearchTerm extends CampaignMetrics {
  readonly term: string;
  readonly campaignId: string;
  /** The campaign's name on the platform. */
  readonly campaignName: string;
}
