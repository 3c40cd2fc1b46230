// Rules that a turn held back because they would open data: how people and the model are told about them, and how
// a person applies or drops one (docs/api/builder-chat.md#held-rules).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision } from '../../core/identity/apps.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { AppSchemas, AppSignUp, HeldOpening, HeldOperation, SignUp } from './draft.ts';
import {
  findHeldSignUp,
  type HeldRuleRow,
  moveHeldRules,
  type NewHeldRule,
  removeHeldRule,
  replaceHeldRules,
} from './store/held-rules.ts';

export interface HeldByTurn {
  /** The entities that the turn changed or wanted to change, or that it set who may sign up. */
  readonly replaced: readonly string[] | 'sign_up';
  readonly held: readonly HeldOpening[];
  /** The revisions of the saved schemas, which the rules were compared with. */
  readonly revisions: ReadonlyMap<string, number>;
}

/** Stores what a turn held, in the transaction that saves the rest. Earlier proposals of the same kind are replaced. */
export async function saveHeldRules(
  db: Db,
  access: AppAccess,
  { replaced, held, revisions }: HeldByTurn,
  now: Date,
): Promise<void> {
  const rules = held.map(
    ({ entity, operation, principal, before, after, example }): NewHeldRule => ({
      id: newId(),
      entity_name: entity,
      operation,
      principal,
      rule_before: before,
      rule_after: after,
      example: example && { record: example.record, change: example.change, attributes: example.attributes },
      schema_revision: (entity !== null && revisions.get(entity)) || 0,
      created_date: now,
    }),
  );
  await replaceHeldRules(db, access, replaced, rules);
}

export interface HeldRuleDeps {
  readonly schemas: AppSchemas;
  readonly signUp: AppSignUp;
}

export interface HeldAnswer {
  readonly apply: boolean;
}

/** Applies the rule as one revision, or drops it. Nothing else of the schema is changed. */
export function answerHeldRule(
  db: Db,
  deps: HeldRuleDeps,
  access: AppAccess & { readonly held_rule: HeldRuleRow },
  { apply }: HeldAnswer,
  now: Date,
) {
  return transaction(db, async (db) => {
    if (apply) await deps.schemas.lock(db, access); // always locked before the app's row
    // Read again: another rule of the entity may have been applied since.
    const rule = await removeHeldRule(db, access, access.held_rule.id);
    if (rule === undefined) throw notFound('held_rule_not_found'); // answered by someone else
    const { entity_name: entity, operation } = rule;
    if (entity === null || operation === 'sign_up') return answerSignUp(db, deps, access, { apply, rule }, now);
    if (apply) {
      const revision = await applyRule(db, deps, access, { ...rule, entity, operation }, now);
      return { applied: true, revision };
    }
    const target = { kind: 'entity_schema', id: entity };
    const before = { operation, rule: rule.rule_after };
    await audit(db, access, { type: 'entity_schema.rule_dropped', target, app_id: access.app.id, before }, now);
    return { applied: false, revision: access.app.revision };
  });
}

/** Who may sign up is not part of the app's revisions. */
async function answerSignUp(
  db: Db,
  { signUp }: HeldRuleDeps,
  access: AppAccess,
  { apply, rule: { rule_before, rule_after } }: HeldAnswer & { readonly rule: HeldRuleRow },
  now: Date,
) {
  const { app } = access;
  if (apply) {
    if ((await signUp.read(db, access)).mode !== rule_before) throw outdated();
    await signUp.save(db, access, 'open', now);
  } else {
    const change = { target: { kind: 'app', id: app.id }, app_id: app.id, before: { sign_up: rule_after } };
    await audit(db, access, { ...change, type: 'app.sign_up_dropped' }, now);
  }
  return { applied: apply, revision: app.revision };
}

async function applyRule(
  db: Db,
  { schemas }: HeldRuleDeps,
  access: AppAccess,
  rule: HeldRuleRow & { readonly entity: string; readonly operation: HeldOperation },
  now: Date,
): Promise<number> {
  const { entity, operation, rule_after, schema_revision } = rule;
  const current = (await schemas.list(db, access)).find(({ name }) => name === entity);
  if (current?.revision !== schema_revision) throw outdated();
  const revision = await incrementRevision(db, access, { cause: 'schema' }, now);
  await schemas.applyHeld(db, access, { entity, operation, rule: rule_after }, revision, now);
  await moveHeldRules(db, access, rule, revision);
  return revision;
}

const outdated = () =>
  new Problem(
    'conflict',
    'held_rules_outdated',
    'The entity, or who may sign up, has changed since this was proposed. Drop the proposal, and send a message that asks for the change again.',
    { retrySafe: false },
  );

// ---- who may sign up

/**
 * Whether a person has to agree first. That the person's message asked for it doesn't count: only the model says what a
 * message means, and it may have read texts of others. In a transaction, no entity gets its first record until the end.
 */
export async function isSignUpHeld(
  db: Db,
  { schemas }: HeldRuleDeps,
  access: AppAccess,
  { mode, seen }: { readonly mode: SignUp; readonly seen: SignUp },
): Promise<boolean> {
  if (mode !== 'open' || seen === 'open') return false;
  const names = (await schemas.list(db, access)).map(({ name }) => name);
  return (await schemas.listWithRecords(db, access, names)).length > 0;
}

export const isSignUpProposed = async (db: Db, access: AppAccess): Promise<boolean> =>
  (await findHeldSignUp(db, access)) !== undefined;

// ---- texts

const callers = {
  anonymous: 'callers who are not signed in',
  any_user: 'every signed-in user',
  creator: 'users who created the record',
  some_user: 'some users',
} as const;

/** For example `read of Task, for callers who are not signed in`. */
export function describeHeld({ entity, operation, principal }: Omit<HeldOpening, 'before' | 'after' | 'example'>) {
  if (operation === 'sign_up') return 'creating an account, for everybody: the app has records';
  if (operation === 'fields') return `the rules of the fields of ${entity}`;
  return `${operation} of ${entity}, for ${principal === null ? 'callers who could not be determined' : callers[principal]}`;
}

const maxListed = 10;

/** What the platform tells the person after a turn that held something. */
export function noteHeld(held: readonly HeldOpening[]): string {
  const listed = held.slice(0, maxListed).map((rule) => `- ${describeHeld(rule)}`);
  const more = held.length > maxListed ? [`- and ${held.length - maxListed} more`] : [];
  return [
    'Everything else was saved, but these rules stay as they were, because the new ones would open data:',
    ...listed,
    ...more,
    'Someone who can edit this app must apply or drop each of them with answerHeldRules. getChat lists them as `held_rules`.',
  ].join('\n');
}
