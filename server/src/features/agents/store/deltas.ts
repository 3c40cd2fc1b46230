// Owns the queries on deltas: the parts of a reply, stored while the model writes it, so that any process can stream them.
import { sql } from 'kysely';
import type { ReplyDelta } from '../../../gateways/language-model/index.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { RowKey } from './row-key.ts';
import type { TurnRow } from './turns.ts';

/** How far a caller has followed a reply: the run of its turn (`claims` of the row), and the last delta of that run. */
export interface StreamPosition {
  readonly claim: number;
  readonly seq: number;
}

export interface TurnProgress {
  readonly claims: number;
  readonly is_running: boolean;
  readonly reply_id: string | null;
  readonly deltas: readonly { readonly seq: number; readonly delta: ReplyDelta }[];
}

// Every open stream reads it at every wake-up, so it is one prepared statement.
const selectProgress = prepared<TurnProgress, [workspaceId: string, id: string, claim: number, seq: number]>(
  'find agent turn progress',
  `select claims, due_at is not null as is_running, reply_id, coalesce((
     select json_agg(json_build_object('seq', seq, 'delta', d.delta) order by seq) from agent_deltas d
     where d.workspace_id = $1 and d.turn_id = t.id and d.claim = t.claims
       and seq > case when t.claims = $3 then $4 else 0 end), '[]') as deltas
   from agent_turns t where workspace_id = $1 and id = $2`,
);

export const findProgress = async (db: Db, { workspace_id, id }: RowKey, { claim, seq }: StreamPosition) =>
  (await selectProgress(db, workspace_id, id, claim, seq))[0];

const insertDeltaRows = prepared<never, unknown[]>(
  'insert agent deltas',
  `insert into agent_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
   select $1, $2, $3, $4::int + number, delta, $6
   from jsonb_array_elements($5::jsonb) with ordinality deltas(delta, number)`,
);

/** Inserts deltas, numbered from `seq + 1`. */
export async function insertDeltas(db: Db, turn: TurnRow, seq: number, deltas: readonly object[], now: Date) {
  await insertDeltaRows(db, turn.workspace_id, turn.id, turn.claims, seq, JSON.stringify(deltas), now);
}

const maxRemovedAtOnce = 5_000;

/** Removes deltas that no caller can resume from any more. Returns how many. */
export async function removeOldDeltas(db: Db, before: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from agent_deltas where (turn_id, claim, seq) in (
    select turn_id, claim, seq from agent_deltas where created_date < ${before} limit ${maxRemovedAtOnce}
    for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
