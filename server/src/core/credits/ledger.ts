// Owns the rows of the credit ledger: their kinds, and their shape in the API (docs/api/credits.md).
import { z } from 'zod';
import { answer, id, timestamp } from '../../kit/http/shapes.ts';

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
  id,
  created_date: timestamp,
  kind: z.enum(ledgerKinds),
  amount: z.number().meta({ description: '`use` and `reserve` reduce the balance; the other kinds increase it.' }),
  user_id: id.nullable(),
  app_id: id.nullable(),
  operation: z.string(),
  reference_id: z.string().nullable(),
  balance_after: z.number().nullable().meta({ description: 'Null if the workspace has no monthly limit.' }),
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
