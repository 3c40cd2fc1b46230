// Owns a row of the credit ledger: its kinds and what each moves, and its shape as a caller sees it
// (docs/contract.md §2.5).
import { z } from 'zod';
import { answer, timestamp } from '../../kit/http/shapes.ts';

export const ledgerKinds = ['use', 'reserve', 'release', 'refund', 'grant', 'reset'] as const;
export type LedgerKind = (typeof ledgerKinds)[number];

export interface LedgerRow {
  readonly id: string;
  readonly created_date: Date;
  readonly kind: LedgerKind;
  readonly amount: number;
  readonly user_id: string | null;
  readonly app_id: string | null;
  readonly operation: string;
  readonly reference_id: string | null;
  readonly balance_after: number | null;
  readonly note: string | null;
}

export const LedgerEntry = answer('CreditLedgerRow', {
  id: z.string(),
  created_date: timestamp,
  kind: z.enum(ledgerKinds),
  amount: z.number().meta({ description: 'use and reserve take from the balance, the others add to it' }),
  user_id: z.string().nullable(),
  app_id: z.string().nullable(),
  operation: z.string(),
  reference_id: z.string().nullable(),
  balance_after: z.number().nullable().meta({ description: 'null while unlimited' }),
  note: z.string().nullable(),
});

export const presentLedgerRow = (row: LedgerRow): z.input<typeof LedgerEntry> => ({
  id: row.id,
  created_date: row.created_date.toISOString(),
  kind: row.kind,
  amount: row.amount,
  user_id: row.user_id,
  app_id: row.app_id,
  operation: row.operation,
  reference_id: row.reference_id,
  balance_after: row.balance_after,
  note: row.note,
});
