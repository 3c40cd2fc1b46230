// The API schemas for credits (docs/api/credits.md).
import { z } from 'zod';
import { ledgerKinds } from '../../core/credits/ledger.ts';
import { type PoolBalance, startOfMonth } from '../../core/credits/pool.ts';
import { answer, described, pageQuery, parameter, query, queryTime, text, timestamp } from '../../kit/http/shapes.ts';

export const Credits = answer('Credits', {
  period_start: described(timestamp, 'The start of the month, in UTC.', '2026-11-01T00:00:00.000Z'),
  period_end: described(timestamp, 'The start of the next month.', '2026-12-01T00:00:00.000Z'),
  monthly_limit: described(
    z.number().nullable(),
    "The workspace's credits per month, from its plan or set by an operator; null if unlimited.",
    1000,
  ),
  used: described(z.number(), 'Credits used this month, less refunds.', 187.1),
  reserved: described(z.number(), 'Credits set aside for operations that are running.', 0.4),
  remaining: described(
    z.number().nullable(),
    'Credits left this month; null if unlimited. Negative only if an operator lowered the limit or took credits back.',
    812.5,
  ),
  granted: described(
    z.number(),
    "Credits that an operator added this month, less those taken back; they don't carry over.",
    0,
  ),
  default_member_credit_limit: described(
    z.number().nullable(),
    'The monthly credits of members without a limit of their own; null if there is no default.',
    50,
  ),
  own: described(
    answer('OwnCredits', {
      used: described(z.number(), 'Credits that the caller has used this month, less refunds.', 41.5),
      credit_limit: described(
        z.number().nullable(),
        "The credits that the caller may use per month: their own limit, or else the workspace's default; null if there is neither.",
        100,
      ),
      is_default_limit: described(
        z.boolean(),
        "Whether `credit_limit` is the workspace's default, because the caller has no limit of their own.",
      ),
    }).nullable(),
    "The caller's own use and limit; null for a workspace key.",
  ),
});

export const OperationPrice = answer('OperationPrice', {
  operation: described(z.string(), 'The operation that costs credits.', 'sendChatMessage'),
  credits: described(z.number(), 'How many credits each unit costs.', 1),
  per: described(
    z.enum(['call', 'image', '10000_tokens']),
    'The unit: a call, an image that is made, or 10,000 tokens of the language model.',
  ),
  at_least: described(z.number().nullable(), 'The least that a call costs; null if it has no such minimum.', 0.5),
});

export const LedgerQuery = query({
  ...pageQuery,
  user_id: described(
    text(0, 64).optional(),
    'Only return entries of this person.',
    '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  ),
  app_id: described(
    text(0, 64).optional(),
    'Only return entries of this app or agent.',
    '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5',
  ),
  kind: parameter(z.enum(ledgerKinds).optional(), 'Only return entries of this kind.'),
  from: parameter(
    queryTime.optional(),
    'Only what was created at or after this time; UTC if the time has no zone.',
    '2026-11-14T00:00:00.000Z',
  ),
  to: parameter(
    queryTime.optional(),
    'Only what was created at or before this time; UTC if the time has no zone.',
    '2026-11-15T00:00:00.000Z',
  ),
});
export type LedgerQuery = z.output<typeof LedgerQuery>;

export const maxUsageDays = 92;

export const UsageQuery = query({
  from: parameter(
    queryTime.optional(),
    'Only what was used at or after this time, at most 92 days before `to`; by default since the month began.',
    '2026-11-01T00:00:00.000Z',
  ),
  to: parameter(
    queryTime.optional(),
    'Only what was used before this time; now by default.',
    '2026-11-15T00:00:00.000Z',
  ),
  group_by: parameter(
    z.enum(['user', 'app', 'operation']).default('operation'),
    'What the credits of a day are added up by.',
  ),
});
export type UsageQuery = z.output<typeof UsageQuery>;

export const CreditUsage = answer('CreditUsage', {
  from: described(timestamp, 'The beginning of what is added up.', '2026-11-01T00:00:00.000Z'),
  to: described(timestamp, 'The end of what is added up.', '2026-11-15T00:00:00.000Z'),
  items: described(
    z.array(
      answer('CreditUsageBucket', {
        day: described(z.string(), 'The day, in UTC.', '2026-11-14'),
        key: described(
          z.string().nullable(),
          'The id of the person or of the app, or the operation; null if it is unknown or there is none.',
          'sendChatMessage',
        ),
        used: described(z.number(), 'The credits that were used.', 41.5),
        refunded: described(z.number(), 'The credits that were returned.', 0),
      }),
    ),
    'The days, newest first, and within each what was used most.',
  ),
});

export const presentCredits = (balance: PoolBalance, isPerson: boolean, now: Date): z.input<typeof Credits> => ({
  period_start: startOfMonth(now).toISOString(),
  period_end: startOfMonth(now, 1).toISOString(),
  monthly_limit: balance.monthly_limit,
  used: balance.used,
  reserved: balance.reserved,
  remaining: balance.remaining,
  granted: balance.granted,
  default_member_credit_limit: balance.default_member_credit_limit,
  own: isPerson
    ? {
        used: balance.member_used,
        credit_limit: balance.credit_limit,
        is_default_limit: balance.is_default_limit,
      }
    : null,
});
