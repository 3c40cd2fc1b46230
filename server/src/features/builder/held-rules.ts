// Rules that a turn held back because they would open data: how people and the model are told about them, and how
// a person applies or drops one (docs/api/builder-chat.md#held-rules).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { incrementRevision } from '../../core/identity/apps.ts';
import { transaction } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import { notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { AppSchemas, HeldOpening } from './draft.ts';
import {
  type HeldRuleRow,
  moveHeldRules,
  type NewHeldRule,
  removeHeldRule,
  replaceHeldRules,
} from './store/held-rules.ts';

export interface HeldByTurn {
  /** The entities that the turn changed or wanted to change. */
  readonly entities: readonly string[];
  readonly held: readonly HeldOpening[];
  /** The revisions of the saved schemas, which the rules were compared with. */
  readonly revisions: ReadonlyMap<string, number>;
}

/** Stores what a turn held, in the transaction that saves the rest. Earlier rules of the entities are replaced. */
export async function saveHeldRules(
  db: Db,
  access: AppAccess,
  { entities, held, revisions }: HeldByTurn,
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
      schema_revision: revisions.get(entity) ?? 0,
      created_date: now,
    }),
  );
  await replaceHeldRules(db, access, entities, rules);
}

export interface HeldRuleDeps {
  readonly schemas: AppSchemas;
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
    if (apply) {
      const revision = await applyRule(db, deps, access, rule, now);
      return { applied: true, revision };
    }
    const target = { kind: 'entity_schema', id: entity };
    const before = { operation, rule: rule.rule_after };
    await audit(db, access, { type: 'entity_schema.rule_dropped', target, app_id: access.app.id, before }, now);
    return { applied: false, revision: access.app.revision };
  });
}

async function applyRule(
  db: Db,
  { schemas }: HeldRuleDeps,
  access: AppAccess,
  rule: HeldRuleRow,
  now: Date,
): Promise<number> {
  const { entity_name: entity, operation, rule_after, schema_revision } = rule;
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
    'The entity has changed since the rule was proposed. Drop the proposal, and send a message that asks for the change again.',
    { retrySafe: false },
  );

// ---- texts

const callers = {
  anonymous: 'callers who are not signed in',
  any_user: 'every signed-in user',
  creator: 'users who created the record',
  some_user: 'some users',
} as const;

/** For example `read of Task, for callers who are not signed in`. */
export function describeHeld({ entity, operation, principal }: Omit<HeldOpening, 'before' | 'after' | 'example'>) {
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
