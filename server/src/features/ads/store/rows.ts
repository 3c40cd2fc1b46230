// The row types shared by several parts of advertising.
import type { Selectable } from 'kysely';
import type { Tables } from '../../../tables.ts';

export type AccountRow = Selectable<Tables['ads_accounts']>;
/** An account that exists on the platform. */
export type ReadyAccount = AccountRow & { readonly platform_customer_id: string };

export const isReady = (row: AccountRow): row is ReadyAccount => row.platform_customer_id !== null;

export type CampaignRow = Selectable<Tables['ads_campaigns']>;
export type CampaignKey = Pick<CampaignRow, 'workspace_id' | 'app_id' | 'id'>;

export type MappingRow = Selectable<Tables['conversion_mappings']>;
