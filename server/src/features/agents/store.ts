// Owns the queries over agents' own tables. The apps that agents are belong to access.
import { type Selectable, sql } from 'kysely';
import type { AppAccess, AppRow, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { selectAppList } from '../../core/identity/app-list.ts';
import type { QueueRow } from '../../kit/background/queues/queue.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull, newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import type { AgentOwn, AgentQuery, ConversationQuery, ConversationRow, MemoryRow, MessageRow } from './contract.ts';

// ---- agents

type InWorkspace = Pick<AppRow, 'workspace_id' | 'id'>;

export const findAgent = (db: Db, { workspace_id, id }: InWorkspace): Promise<AgentOwn | undefined> =>
  db
    .selectFrom('agents')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', id)
    .select(['instructions', 'model'])
    .executeTakeFirst();

export async function saveAgent(db: Db, { workspace_id, id }: InWorkspace, own: AgentOwn): Promise<void> {
  await db
    .insertInto('agents')
    .values({ workspace_id, app_id: id, ...own })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id']).doUpdateSet(own))
    .execute();
}

export const listAgents = (db: Db, access: WorkspaceAccess, query: AgentQuery, after: Position | undefined) =>
  selectAppList(db, access, query, after)
    .where('apps.app_type', '=', 'user_agent')
    .leftJoin('agents', (join) =>
      join
        .onRef('agents.workspace_id', '=', 'apps.workspace_id')
        .onRef('agents.app_id', '=', 'apps.id')
        .on('agents.workspace_id', '=', access.workspace_id),
    )
    .select((is) => [is.fn.coalesce('agents.instructions', sql<string>`''`).as('instructions'), 'agents.model'])
    .execute();

// ---- conversations

export type ConversationAccess = AppAccess & { readonly conversation: ConversationRow };

/** A person's own conversations with the agent; a credential of theirs acts as they do. */
const conversations = (db: Db, { app, caller }: AppAccess) =>
  db
    .selectFrom('agent_conversations')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('user_id', '=', caller.user_id)
    .selectAll();

export const listConversations = (db: Db, access: AppAccess) => conversations(db, access).orderBy('id').execute();

export const findConversation = (db: Db, access: AppAccess, id: string) =>
  conversations(db, access).where('id', '=', idOrNull(id)).executeTakeFirst();

/** Undefined when there is one already. */
export const insertConversation = (db: Db, { app, caller }: AppAccess, metadata: object, now: Date) =>
  db
    .insertInto('agent_conversations')
    .values({
      workspace_id: app.workspace_id,
      id: newId(),
      app_id: app.id,
      user_id: caller.user_id as string,
      metadata: JSON.stringify(metadata),
      created_date: now,
      updated_date: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id', 'user_id']).doNothing())
    .returningAll()
    .executeTakeFirst();

const conversationRow = (db: Db, { workspace_id, id }: InWorkspace) =>
  db.selectFrom('agent_conversations').where('workspace_id', '=', workspace_id).where('id', '=', id).selectAll();

export const findConversationRow = (db: Db, conversation: InWorkspace) =>
  conversationRow(db, conversation).executeTakeFirst();

/** Held until the transaction ends: whoever begins or ends a turn waits here, before they wait for credits. */
export const holdConversation = (db: Db, conversation: InWorkspace) =>
  conversationRow(db, conversation).forUpdate().executeTakeFirst();

// ---- messages

const messages = (db: Db, { workspace_id, id }: InWorkspace) =>
  db.selectFrom('agent_messages').where('workspace_id', '=', workspace_id).where('conversation_id', '=', id);

/** The newest, or the newest before a message; oldest first. */
export async function listMessages(db: Db, conversation: InWorkspace, { limit, before }: ConversationQuery) {
  let page = messages(db, conversation).selectAll().orderBy('position', 'desc').limit(limit);
  if (before !== undefined) {
    const place = messages(db, conversation).where('id', '=', idOrNull(before)).select('position');
    page = page.where('position', '<', place);
  }
  return (await page.execute()).reverse();
}

export const findMessage = (db: Db, conversation: InWorkspace, id: string) =>
  messages(db, conversation).where('id', '=', id).selectAll().executeTakeFirst();

export type NewMessageRow = Pick<MessageRow, 'id' | 'role' | 'content' | 'file_urls'> &
  Partial<Pick<MessageRow, 'prompt_tokens' | 'completion_tokens' | 'model'>> & {
    readonly tool_calls?: readonly object[];
  };

/** Adds a message after all others. */
export async function insertMessage(
  db: Db,
  { workspace_id, id }: InWorkspace,
  message: NewMessageRow,
  now: Date,
): Promise<MessageRow> {
  const { last_position } = await db
    .updateTable('agent_conversations')
    .set((is) => ({ last_position: is('last_position', '+', 1), updated_date: now }))
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returning('last_position')
    .executeTakeFirstOrThrow();
  const { tool_calls = [], ...fields } = message;
  return db
    .insertInto('agent_messages')
    .values({
      ...fields,
      workspace_id,
      conversation_id: id,
      position: last_position,
      tool_calls: JSON.stringify(tool_calls),
      created_date: now,
      updated_date: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function removeMessage(db: Db, { conversation }: ConversationAccess, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('agent_messages')
    .where('workspace_id', '=', conversation.workspace_id)
    .where('conversation_id', '=', conversation.id)
    .where('id', '=', idOrNull(id))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** What was said last, up to and with a message, as far as the model is told of it; oldest first. */
export async function listRecent(db: Db, conversation: InWorkspace, upTo: number, limit: number) {
  const page = messages(db, conversation)
    .where('position', '<=', upTo)
    .where('hidden', '=', false)
    .select(['role', 'content', 'file_urls'])
    .orderBy('position', 'desc')
    .limit(limit);
  return (await page.execute()).reverse();
}

/** How long that is, in bytes: without reading it. */
export async function sizeOfRecent(db: Db, conversation: InWorkspace, limit: number): Promise<number> {
  const recent = messages(db, conversation).select('content').orderBy('position', 'desc').limit(limit).as('recent');
  const { bytes } = await db
    .selectFrom(recent)
    .select(sql<number>`coalesce(sum(octet_length(content)), 0)`.as('bytes'))
    .executeTakeFirstOrThrow();
  return bytes;
}

// ---- turns

export type TurnRow = Selectable<Tables['agent_turns']> & QueueRow;

const turns = (db: Db, { workspace_id, id }: InWorkspace) =>
  db.selectFrom('agent_turns').where('workspace_id', '=', workspace_id).where('conversation_id', '=', id);

export const findTurn = (db: Db, conversation: InWorkspace, id: string) =>
  turns(db, conversation).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export const findRunningTurn = (db: Db, conversation: InWorkspace) =>
  turns(db, conversation).where('due_at', 'is not', null).select('id').executeTakeFirst();

// The queue goes by the database's clock.
const atOnce = sql<Date>`clock_timestamp()`;

export const insertTurn = (
  db: Db,
  conversation: InWorkspace,
  turn: { message_id: string; reservation_id: string; may_save_memories: boolean },
  now: Date,
) =>
  db
    .insertInto('agent_turns')
    .values({
      ...turn,
      id: newId(),
      workspace_id: conversation.workspace_id,
      conversation_id: conversation.id,
      created_date: now,
      due_at: atOnce,
    })
    .returningAll()
    .executeTakeFirstOrThrow();

/** Has a turn that failed run again, as if it had not run. */
export async function restartTurn(
  db: Db,
  turn: TurnRow,
  again: { reservation_id: string; may_save_memories: boolean },
) {
  await db
    .deleteFrom('agent_deltas')
    .where('workspace_id', '=', turn.workspace_id)
    .where('turn_id', '=', turn.id)
    .execute();
  return db
    .updateTable('agent_turns')
    .set({
      ...again,
      due_at: atOnce,
      ended_date: null,
      failed_at: null,
      last_error: null,
      failures: 0,
      crash_count: 0,
    })
    .where('workspace_id', '=', turn.workspace_id)
    .where('id', '=', turn.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function endTurn(db: Db, { workspace_id, id }: InWorkspace, reply_id: string | null, now: Date) {
  await db
    .updateTable('agent_turns')
    .set({ reply_id, ended_date: now })
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .execute();
}

const turnsKeptMs = 2 * 24 * 60 * 60 * 1000;

/** Forgets turns that no Idempotency-Key can name any more; gives how many. */
const forgetAtOnce = 5_000;

export async function forgetTurns(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from agent_turns where id in (
    select id from agent_turns where due_at is null and created_date < ${new Date(now.getTime() - turnsKeptMs)}
    limit ${forgetAtOnce} for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

// ---- replies on their way

/** How far somebody has followed a turn: which run of it, and which piece of that. */
export interface Place {
  readonly claim: number;
  readonly seq: number;
}

export interface Progress {
  readonly claims: number;
  readonly running: boolean;
  readonly reply_id: string | null;
  readonly pieces: readonly { readonly seq: number; readonly piece: unknown }[];
}

// Read at every hint by everybody who watches, so it is one statement, and prepared.
const progress = prepared<Progress, [workspaceId: string, id: string, claim: number, seq: number]>(
  'agent_progress',
  `select claims, due_at is not null as running, reply_id, coalesce((
     select json_agg(json_build_object('seq', seq, 'piece', d.delta) order by seq) from agent_deltas d
     where d.workspace_id = $1 and d.turn_id = t.id and d.claim = t.claims
       and seq > case when t.claims = $3 then $4 else 0 end), '[]') as pieces
   from agent_turns t where workspace_id = $1 and id = $2`,
);

export const findProgress = async (db: Db, { workspace_id, id }: InWorkspace, { claim, seq }: Place) =>
  (await progress(db, workspace_id, id, claim, seq))[0];

const insertPieces = prepared<never, unknown[]>(
  'agent_deltas',
  `insert into agent_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
   select $1, $2, $3, $4::int + place, piece, $6
   from jsonb_array_elements($5::jsonb) with ordinality pieces(piece, place)`,
);

/** Writes pieces down, numbered after `seq`. */
export async function insertDeltas(db: Db, turn: TurnRow, seq: number, pieces: readonly object[], now: Date) {
  await insertPieces(db, turn.workspace_id, turn.id, turn.claims, seq, JSON.stringify(pieces), now);
}

/** Forgets pieces that nobody can ask for any more; gives how many. */
export async function forgetDeltas(db: Db, before: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from agent_deltas where (turn_id, claim, seq) in (
    select turn_id, claim, seq from agent_deltas where created_date < ${before} limit ${forgetAtOnce}
    for update skip locked)`.execute(db);
  return Number(numAffectedRows ?? 0);
}

// ---- memories

/** What the agent knows of a person, and what it knows for everybody. */
const memories = (db: Db, workspace_id: string, app_id: string, user_id: string) =>
  db
    .selectFrom('agent_memories')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where((is) => is.or([is('user_id', 'is', null), is('user_id', '=', user_id)]))
    .selectAll();

const memoriesOf = (db: Db, { app, caller }: AppAccess) =>
  memories(db, app.workspace_id, app.id, caller.user_id as string);

export function listMemories(db: Db, access: AppAccess, limit: number, after: Position | undefined) {
  const page = memoriesOf(db, access)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  return (after === undefined ? page : page.where('id', '<', String(after[0]))).execute();
}

export const findMemory = (db: Db, access: AppAccess, id: string) =>
  memoriesOf(db, access).where('id', '=', idOrNull(id)).executeTakeFirst();

export const listRemembered = (db: Db, { workspace_id, app_id, user_id }: ConversationRow) =>
  memories(db, workspace_id, app_id, user_id).orderBy('id').execute();

export async function insertMemories(db: Db, rows: readonly MemoryRow[]): Promise<void> {
  if (rows.length > 0)
    await db
      .insertInto('agent_memories')
      .values([...rows])
      .execute();
}

export async function removeMemories(db: Db, workspace_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('agent_memories').where('workspace_id', '=', workspace_id).where('id', 'in', ids).execute();
}
