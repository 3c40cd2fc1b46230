// The credit ledger's rows: their kinds, and their shape in the API (docs/api/credits.md).
import { z } from 'zod';
import { answer, described, id, timestamp } from '../../kit/http/shapes.ts';

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
  id: described(id, 'The id of the ledger entry.', '0198c1fc-17d9-7c53-a04f-e5928b6d31f0'),
  created_date: described(timestamp, 'The time of the movement.', '2026-11-15T09:30:00.000Z'),
  kind: described(
    z.enum(ledgerKinds),
    'The kind of movement, which also says whether `amount` is added or subtracted.',
  ),
  amount: described(
    z.number(),
    'The credits of the movement; `use` and `reserve` subtract them from the balance, the other kinds add them.',
    0.2,
  ),
  user_id: described(
    id.nullable(),
    'The id of the person who used or granted the credits; null for changes of the limit.',
    '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  ),
  app_id: described(
    id.nullable(),
    'The id of the app or agent that used the credits; null for grants and changes of the limit.',
    '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5',
  ),
  operation: described(
    z.string(),
    'The operation that caused the movement; `monthlyLimit` for a change of the limit.',
    'sendAgentMessage',
  ),
  reference_id: described(
    z.string().nullable(),
    'The id of the object that the movement is about, such as the message that an agent answered; null if there is none.',
    '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6',
  ),
  balance_after: described(
    z.number().nullable(),
    'The balance after the movement; null if the workspace has no monthly limit.',
    812.5,
  ),
  note: described(
    z.string().nullable(),
    'Why the movement was made, or the full price if it was not covered; null if there is no note.',
    'Compensation for the outage on 14 November',
  ),
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
