// Owns the schemas of credits (docs/api/credits.md).
import { z } from 'zod';
import { ledgerKinds } from '../../core/credits/ledger.ts';
import { type PoolBalance, startOfMonth } from '../../core/credits/pool.ts';
import { answer, pageQuery, query, queryTime, text, timestamp } from '../../kit/http/shapes.ts';

export const Credits = answer('Credits', {
  period_start: timestamp,
  period_end: timestamp.meta({ description: 'The start of the next month.' }),
  monthly_limit: z.number().nullable(),
  used: z.number(),
  reserved: z.number(),
  remaining: z
    .number()
    .nullable()
    .meta({ description: 'Null if unlimited. Below 0 only if an operator lowered the limit or took credits back.' }),
  granted: z.number(),
  default_member_credit_limit: z.number().nullable(),
  own: answer('OwnCredits', {
    used: z.number(),
    credit_limit: z.number().nullable(),
    is_default_limit: z.boolean(),
  })
    .nullable()
    .meta({ description: "The caller's own use and limit. Null for a workspace key." }),
});

export const LedgerQuery = query({
  ...pageQuery,
  user_id: text(0, 64).optional(),
  app_id: text(0, 64).optional(),
  kind: z.enum(ledgerKinds).optional(),
  from: queryTime.optional(),
  to: queryTime.optional(),
});
export type LedgerQuery = z.output<typeof LedgerQuery>;

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
