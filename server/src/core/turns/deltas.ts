// Deltas, the parts of a reply. They are stored as the reply is generated, so any process can stream them. A turn
// is a row in a queue table, either `agent_turns` or `chat_turns`.
import { sql } from 'kysely';
import { purge } from '../../kit/background/purge.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
  readonly status: 'running' | 'success' | 'error' | 'stopped';
  readonly results: string | null;
}

/**
 * A part of a reply. The reply's content is all texts, joined in order. A tool call is sent when it starts and when it
 * ends.
 */
export type Delta = { readonly text: string } | { readonly tool_call: ToolCall };

export interface TurnKey {
  readonly workspace_id: string;
  readonly id: string;
}

/** How far a caller has followed a turn: the run (the row's `claims`), and that run's last delta. */
export interface StreamPosition {
  readonly claim: number;
  readonly seq: number;
}

export interface TurnProgress {
  readonly claims: number;
  readonly is_running: boolean;
  /** The current run's first deltas after the position. */
  readonly deltas: readonly { readonly seq: number; readonly delta: Delta }[];
  readonly has_more: boolean;
}

export type FindProgress = (db: Db, turn: TurnKey, position: StreamPosition) => Promise<TurnProgress | undefined>;

// A follower that does not read keeps one batch in memory. A single delta may be larger.
const batch = { limit: 500, maxBytes: 256 * 1024 };

/** The returned function reads a turn's progress from this table. It returns undefined if the turn does not exist. */
export function prepareFindProgress(table: 'agent_turns' | 'chat_turns'): FindProgress {
  // Prepared once, because it runs at every wake-up of a followed turn.
  const select = prepared<
    TurnProgress,
    [workspaceId: string, id: string, claim: number, seq: number, limit: number, maxBytes: number]
  >(
    `find progress of ${table}`,
    `select claims, ended_date is null as is_running, coalesce(deltas, '[]') as deltas, coalesce(has_more, false) as has_more
     from ${table} t left join lateral (
       select json_agg(json_build_object('seq', seq, 'delta', delta) order by seq)
           filter (where place <= $5 and before < $6) as deltas,
         bool_or(place > $5 or before >= $6) as has_more
       from (select seq, d.delta, row_number() over (order by seq) as place,
           sum(pg_column_size(d.delta)) over (order by seq) - pg_column_size(d.delta) as before
         from turn_deltas d
         where d.workspace_id = $1 and d.turn_id = t.id and d.claim = t.claims
           and seq > case when t.claims = $3 then $4 else 0 end
         order by seq limit $5 + 1) next) read on true
     where workspace_id = $1 and id = $2`,
  );
  return async (db, { workspace_id, id }, { claim, seq }) =>
    (await select(db, workspace_id, id, claim, seq, batch.limit, batch.maxBytes))[0];
}

const insertDeltaRows = prepared<never, unknown[]>(
  'insert turn deltas',
  `insert into turn_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
   select $1, $2, $3, $4::int + number, delta, $6
   from jsonb_array_elements($5::jsonb) with ordinality deltas(delta, number)`,
);

/** Inserts deltas for one run of a turn, numbered from `seq + 1`. */
export async function insertDeltas(
  db: Db,
  { workspace_id, id, claims }: TurnKey & { readonly claims: number },
  seq: number,
  deltas: readonly Delta[],
  now: Date,
): Promise<void> {
  await insertDeltaRows(db, workspace_id, id, claims, seq, JSON.stringify(deltas), now);
}

/** Removes a turn's deltas, from all runs. */
export async function removeDeltas(db: Db, { workspace_id, id }: TurnKey): Promise<void> {
  await db.deleteFrom('turn_deltas').where('workspace_id', '=', workspace_id).where('turn_id', '=', id).execute();
}

// A turn takes at most ten minutes, and callers can resume its stream for another ten.
const keptMs = 20 * 60 * 1000;
/** Removes deltas that callers can no longer resume from. Returns the number removed. */
export async function removeOldDeltas(db: Db, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs);
  return purge(db, { table: 'turn_deltas', where: sql`created_date < ${before}` });
}
