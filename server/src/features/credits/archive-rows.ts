// Describes how credits are stored in an archive. Unfinished operations are not exported, and their reservations expire
// as usual.
import { z } from 'zod';
import { ledgerKinds } from '../../core/credits/ledger.ts';
import {
  type ArchiveTable,
  mayHaveReferredTo,
  owner,
  refersTo,
  time,
  unsharedRowId,
  uuid,
} from '../../kit/archive/columns.ts';
import { oneOf, text } from '../../kit/http/shapes.ts';
import { parseTime } from '../../kit/text.ts';

const amount = z.number().min(-1e12).max(1e12);
const positive = amount.min(0);
/** The start of a month, in UTC. */
const month = time.refine((at) => parseTime(at)?.toISOString().endsWith('-01T00:00:00.000Z'), {
  error: 'must be the start of a month in UTC',
});
const operation = text(1, 100);
const reference = text(0, 200).nullable();

export const creditArchiveTables: Readonly<Record<string, ArchiveTable>> = {
  credit_ledger: {
    columns: {
      workspace_id: owner,
      id: unsharedRowId,
      kind: z.enum(ledgerKinds),
      amount,
      user_id: mayHaveReferredTo('people'),
      app_id: mayHaveReferredTo('apps'),
      operation,
      reference_id: reference,
      balance_after: amount.nullable(),
      note: text(0, 500).nullable(),
      created_date: time,
      period_start: month,
    },
  },
  credit_pools: {
    columns: {
      workspace_id: owner,
      period_start: month,
      monthly_limit: positive.nullable(),
      granted: amount,
      used: positive,
      reserved: positive,
    },
  },
  credit_use: {
    columns: { workspace_id: owner, period_start: month, user_id: refersTo('people'), used: amount, reserved: amount },
  },
  credit_reservations: {
    columns: {
      workspace_id: owner,
      id: uuid,
      period_start: month,
      user_id: mayHaveReferredTo('people'),
      app_id: mayHaveReferredTo('apps'),
      operation,
      reference_id: reference,
      amount: positive,
      state: oneOf('open', 'settled', 'released', 'refunded'),
      cost: positive.nullable(),
      charged: positive.nullable(),
      created_date: time,
      expires_at: time,
      closed_date: time.nullable(),
    },
  },
};
