// Owns the shapes of credits as a caller sees them (docs/contract.md §2.5).
import { z } from 'zod';
import { ledgerKinds } from '../../core/credits/ledger.ts';
import { type PoolBalance, startOfMonth } from '../../core/credits/pool.ts';
import { answer, pageQuery, query, queryTime, text, timestamp } from '../../kit/http/shapes.ts';

export const Credits = answer('Credits', {
  period_start: timestamp,
  period_end: timestamp.meta({ description: 'the first moment of the next month' }),
  monthly_limit: z.number().nullable(),
  used: z.number(),
  reserved: z.number(),
  remaining: z.number().nullable().meta({ description: 'null = unlimited; below 0 after a limit was lowered' }),
  granted: z.number(),
  default_member_credit_limit: z.number().nullable(),
  own: answer('OwnCredits', {
    used: z.number(),
    credit_limit: z.number().nullable(),
    is_default_limit: z.boolean(),
  })
    .nullable()
    .meta({ description: 'the caller’s; null for a workspace key' }),
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

export const presentCredits = (standing: PoolBalance, isPerson: boolean, now: Date): z.input<typeof Credits> => ({
  period_start: startOfMonth(now).toISOString(),
  period_end: startOfMonth(now, 1).toISOString(),
  monthly_limit: standing.monthly_limit,
  used: standing.used,
  reserved: standing.reserved,
  remaining: standing.remaining,
  granted: standing.granted,
  default_member_credit_limit: standing.default_member_credit_limit,
  own: isPerson
    ? {
        used: standing.member_used,
        credit_limit: standing.credit_limit,
        is_default_limit: standing.is_default_limit,
      }
    : null,
});
