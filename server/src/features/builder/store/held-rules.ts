// The queries on rules that turns of the builder chat held back.
import type { Selectable } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db, Tables } from '../../../tables.ts';
import { toChatKey } from './messages.ts';

export type HeldRuleRow = Selectable<Tables['chat_held_rules']>;

const maxHeldRules = 50;

const selectHeld = (db: Db, access: AppAccess) => {
  const { workspace_id, app_id } = toChatKey(access);
  return db.selectFrom('chat_held_rules').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);
};

/** Lists the rules of an app, newest first. */
export const listHeldRules = (db: Db, access: AppAccess): Promise<HeldRuleRow[]> =>
  selectHeld(db, access).selectAll().orderBy('id', 'desc').execute();

export const findHeldRule = (db: Db, access: AppAccess, id: string): Promise<HeldRuleRow | undefined> =>
  selectHeld(db, access).where('id', '=', idOrNull(id)).selectAll().executeTakeFirst();

export type NewHeldRule = Omit<HeldRuleRow, 'workspace_id' | 'app_id'>;

/** Replaces what is held of these entities, or of who may sign up. Of an app, only the newest rules are kept. */
export async function replaceHeldRules(
  db: Db,
  access: AppAccess,
  replaced: readonly string[] | 'sign_up',
  rules: readonly NewHeldRule[],
): Promise<void> {
  const chat = toChatKey(access);
  const removed = removeHeld(db, access);
  await (replaced === 'sign_up'
    ? removed.where('operation', '=', 'sign_up')
    : removed.where('entity_name', 'in', [...replaced])
  ).execute();
  if (rules.length === 0) return;
  const toJson = (value: unknown) => (value === null ? null : JSON.stringify(value));
  const rows = rules.slice(0, maxHeldRules).map((rule) => ({
    ...rule,
    ...chat,
    rule_before: toJson(rule.rule_before),
    rule_after: JSON.stringify(rule.rule_after),
    example: toJson(rule.example),
  }));
  await db.insertInto('chat_held_rules').values(rows).execute();
  const newest = selectHeld(db, access).select('id').orderBy('id', 'desc').limit(maxHeldRules);
  await removeHeld(db, access).where('id', 'not in', newest).execute();
}

const removeHeld = (db: Db, access: AppAccess) => {
  const { workspace_id, app_id } = toChatKey(access);
  return db.deleteFrom('chat_held_rules').where('workspace_id', '=', workspace_id).where('app_id', '=', app_id);
};

/** Finds the proposal to change who may sign up. */
export const findHeldSignUp = (db: Db, access: AppAccess): Promise<HeldRuleRow | undefined> =>
  selectHeld(db, access).where('operation', '=', 'sign_up').selectAll().executeTakeFirst();

/** Removes a rule that was answered, and returns it. Undefined if it was answered or replaced in the meantime. */
export const removeHeldRule = (db: Db, access: AppAccess, id: string): Promise<HeldRuleRow | undefined> =>
  removeHeld(db, access).where('id', '=', id).returningAll().executeTakeFirst();

/** The other rules of an entity can still be applied after one of them was. */
export async function moveHeldRules(
  db: Db,
  access: AppAccess,
  { entity, schema_revision }: { readonly entity: string; readonly schema_revision: number },
  revision: number,
): Promise<void> {
  const { workspace_id, app_id } = toChatKey(access);
  await db
    .updateTable('chat_held_rules')
    .set({ schema_revision: revision })
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', app_id)
    .where('entity_name', '=', entity)
    .where('schema_revision', '=', schema_revision)
    .execute();
}
