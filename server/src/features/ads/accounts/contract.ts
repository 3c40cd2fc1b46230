// Owns the schemas of advertising accounts as a caller sees them (docs/api/ads.md#accounts).

import type { Selectable } from 'kysely';
import { z } from 'zod';
import { answer, body, id, optional, text } from '../../../kit/http/shapes.ts';
import { isTimezone } from '../../../kit/schedule/index.ts';
import type { Tables } from '../../../tables.ts';

export const accountStatuses = ['ACTIVE', 'PENDING', 'SUSPENDED', 'CLOSED'] as const;
export type AccountStatus = (typeof accountStatuses)[number];

export const AdsAccount = answer('AdsAccount', {
  id,
  status: z.enum(accountStatuses),
  account_name: z.string(),
  currency_code: z.string(),
  timezone: z.string(),
  platform_customer_id: z.string(),
});

export const timezone = text(1, 64).refine(isTimezone, {
  params: { type: 'value_error' },
  error: 'must be the name of a time zone, such as Europe/Berlin or UTC',
});

export const NewAdsAccount = body({ timezone: optional(timezone) });

export type AccountRow = Selectable<Tables['ads_accounts']>;
/** An account that exists at the platform. */
export type ReadyAccount = AccountRow & { readonly platform_customer_id: string };

export const isReady = (row: AccountRow): row is ReadyAccount => row.platform_customer_id !== null;

export const presentAccount = (row: ReadyAccount): z.input<typeof AdsAccount> => ({
  id: row.id,
  status: row.status,
  account_name: row.account_name,
  currency_code: row.currency_code,
  timezone: row.timezone,
  platform_customer_id: row.platform_customer_id,
});
