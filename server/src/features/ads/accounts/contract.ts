// The API schemas for advertising accounts (docs/api/ads.md#accounts).

import { z } from 'zod';
import { answer, body, described, id, optional, text } from '../../../kit/http/shapes.ts';
import { isTimezone } from '../../../kit/schedule/index.ts';
import type { ReadyAccount } from '../store/rows.ts';

export const accountStatuses = ['ACTIVE', 'PENDING', 'SUSPENDED', 'CLOSED'] as const;
export type AccountStatus = (typeof accountStatuses)[number];

export const AdsAccount = answer('AdsAccount', {
  id: described(id, 'The id of the account.', '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6'),
  status: described(z.enum(accountStatuses), "The account's status. Only an `ACTIVE` account can advertise."),
  account_name: described(
    z.string(),
    "The account's name at the ad platform.",
    '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0 0f3c9a51be',
  ),
  currency_code: described(z.string(), "The account's currency, as an ISO 4217 code.", 'EUR'),
  timezone: described(z.string(), "The account's time zone, as an IANA name.", 'Europe/Paris'),
  platform_customer_id: described(z.string(), "The account's id at the ad platform.", '1234567890'),
});

export const timezone = text(1, 64).refine(isTimezone, {
  params: { type: 'value_error' },
  error: 'must be a time zone name, such as Europe/Berlin or UTC',
});

export const NewAdsAccount = body({
  timezone: described(
    optional(timezone),
    'The time zone of a new account, as an IANA name; `UTC` by default.',
    'Europe/Paris',
  ),
});

export const presentAccount = (row: ReadyAccount): z.input<typeof AdsAccount> => ({
  id: row.id,
  status: row.status,
  account_name: row.account_name,
  currency_code: row.currency_code,
  timezone: row.timezone,
  platform_customer_id: row.platform_customer_id,
});
