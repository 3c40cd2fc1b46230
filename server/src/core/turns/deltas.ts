// Owns deltas: the parts of a reply, stored while it is written, so that any process can stream them. A turn is a row of a
// queue table that a worker runs; `agent_turns` and `chat_turns` have the columns that this module reads.
import { sql } from 'kysely';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
  readonly status: 'running' | 'success' | 'error' | 'stopped';
  readonly results: string | null;
}

/** A part of a reply. The texts in order are its content. A tool call is sent when it starts and when it ends. */
export type Delta = { readonly text: string } | { readonly tool_call: ToolCall };

/** A turn: its workspace and its id. */
export interface TurnKey {
  readonly workspace_id: string;
  readonly id: string;
}

/** How far a caller has followed a turn: the run of the turn (`claims` of the row), and the last delta of that run. */
export interface StreamPosition {
  readonly claim: number;
  readonly seq: number;
}

export interface TurnProgress {
  readonly claims: number;
  readonly is_running: boolean;
  /** Those of the current run, after the position. */
  readonly deltas: readonly { readonly seq: number; readonly delta: Delta }[];
}

export type FindProgress = (db: Db, turn: TurnKey, position: StreamPosition) => Promise<TurnProgress | undefined>;

/** Returns a function that reads the progress of a turn of this table. It returns undefined if the turn does not exist. */
export function prepareFindProgress(table: 'agent_turns' | 'chat_turns'): FindProgress {
  // Every open stream reads it at every wake-up, so it is one prepared statement.
  const select = prepared<TurnProgress, [workspaceId: string, id: string, claim: number, seq: number]>(
    `find progress of ${table}`,
    `select claims, ended_date is null as is_running, coalesce((
       select json_agg(json_build_object('seq', seq, 'delta', d.delta) order by seq) from turn_deltas d
       where d.workspace_id = $1 and d.turn_id = t.id and d.claim = t.claims
         and seq > case when t.claims = $3 then $4 else 0 end), '[]') as deltas
     from ${table} t where workspace_id = $1 and id = $2`,
  );
  return async (db, { workspace_id, id }, { claim, seq }) => (await select(db, workspace_id, id, claim, seq))[0];
}

const insertDeltaRows = prepared<never, unknown[]>(
  'insert turn deltas',
  `insert into turn_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
   select $1, $2, $3, $4::int + number, delta, $6
   from jsonb_array_elements($5::jsonb) with ordinality deltas(delta, number)`,
);

/** Inserts deltas of a run of a turn, numbered from `seq + 1`. */
export async function insertDeltas(
  db: Db,
  { workspace_id, id, claims }: TurnKey & { readonly claims: number },
  seq: number,
  deltas: readonly Delta[],
  now: Date,
): Promise<void> {
  await insertDeltaRows(db, workspace_id, id, claims, seq, JSON.stringify(deltas), now);
}

/** Removes the deltas of all runs of a turn. */
export async function removeDeltas(db: Db, { workspace_id, id }: TurnKey): Promise<void> {
  await db.deleteFrom('turn_deltas').where('workspace_id', '=', workspace_id).where('turn_id', '=', id).execute();
}

// A turn takes at most ten minutes, and callers can resume its stream for ten more.
const keptMs = 20 * 60 * 1000;
const maxRemovedAtOnce = 5_000;

/** Removes deltas that no caller can resume from any more. Returns how many. */
export async function removeOldDeltas(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs);
  const { numAffectedRows } = await sql`/* service */ delete from turn_deltas where (turn_id, claim, seq) in (
    select turn_id, claim, seq from turn_deltas where created_date < ${before} limit ${maxRemovedAtOnce}
    for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
