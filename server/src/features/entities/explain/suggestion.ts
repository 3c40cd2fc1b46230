// Owns suggesting the smallest change that would allow an operation: of the schema's rules, or of what the request is about.
// Every suggestion was tried before it is made.
import type { Principal } from '../../../core/auth/principal.ts';
import { countTextSteps, type StepBudget, StepBudgetExceeded, spendSteps } from '../rules/budget.ts';
import { type Clause, readTestedAttribute, resolveClauseOperand } from '../rules/clauses.ts';
import { parseFieldRules } from '../rules/field-rules.ts';
import { parseRules } from '../rules/grammar.ts';
import type { SchemaProperties } from '../rules/properties.ts';
import { isObject } from '../rules/values.ts';
import { verdictSets } from '../rules/verdict-set.ts';
import { applyPatch, type PatchOperation, toPointer } from './json-patch.ts';
import { type JudgedRule, type Judgement, judgeOperation, type Situation } from './judgement.ts';
import type { LocatedRule } from './located-rules.ts';
import { listCandidates, listChangeableFields } from './record-candidates.ts';
import type { Scene } from './scene.ts';

interface Suggestion {
  readonly text: string;
  /** What the patch is applied to: the schema document, or the record or patch of the question. */
  readonly target: 'rule' | 'record' | 'patch';
  readonly patch: readonly PatchOperation[];
}

/** Null if the operation is allowed or depends on hidden values, and if no small change would allow it. */
export function suggestChange(scene: Scene, judgement: Judgement, budget: StepBudget): Suggestion | null {
  if (judgement.decision === 'allow' || judgement.decision === 'hidden') return null;
  const ofRule = withinBudget(() => suggestRuleChange(scene.situation, judgement, budget));
  const ofDocument = withinBudget(() => suggestDocumentChange(scene, judgement, budget));
  if (ofRule === undefined || ofDocument === undefined) return toSuggestion(ofDocument ?? ofRule);
  const isLarger = ofDocument.patch.length > ofRule.patch.length;
  return toSuggestion(isLarger || ofDocument.allowsStrangers ? ofRule : ofDocument);
}

const toSuggestion = (found: (Suggestion & Partial<DocumentChange>) | undefined): Suggestion | null =>
  found === undefined ? null : { text: found.text, target: found.target, patch: found.patch };

function withinBudget<T>(work: () => T | undefined): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof StepBudgetExceeded) return undefined;
    throw error;
  }
}

const isAllowed = (situation: Situation, budget: StepBudget): boolean =>
  judgeOperation(situation, budget).decision === 'allow';

// ---- rules

function suggestRuleChange(situation: Situation, judgement: Judgement, budget: StepBudget): Suggestion | undefined {
  const { schema, principal } = situation;
  const refusing = listRefusingRules(judgement);
  const patch = refusing.map(({ rule }) => openRule(schema, rule, principal));
  const changed = applyPatch({ rls: schema.rls, properties: schema.properties }, patch) as Pick<
    typeof schema, // adding a rule keeps the form of both members
    'rls' | 'properties'
  >;
  if (!areRulesValid(changed.rls, changed.properties)) return undefined;
  if (!isAllowed({ ...situation, schema: { ...schema, ...changed } }, budget)) return undefined;
  return { text: describeRuleChange(refusing, principal, judgement), target: 'rule', patch };
}

function listRefusingRules({ rules, fields, areFieldsRequired }: Judgement): JudgedRule[] {
  const all = areFieldsRequired ? [...rules, ...fields.flatMap((field) => field.rules)] : rules;
  return all.filter(({ decision }) => decision !== 'allow');
}

const areRulesValid = (rls: unknown, properties: SchemaProperties): boolean =>
  !('faults' in parseRules(rls, [], properties, 'entity')) && !('faults' in parseFieldRules(properties, []));

const maxConditions = 20;

/** Adds to a rule a condition that only this principal meets. Only the rule `true` allows anonymous callers anything. */
function openRule(schema: Situation['schema'], rule: LocatedRule, principal: Principal): PatchOperation {
  const { json, location, ownLocation, constant } = rule;
  const path = toPointer(ownLocation);
  const whole = constant === 'missing' ? buildMissingRule(principal) : buildOpening(principal);
  if (ownLocation.length === 2 && !isObject(schema.rls))
    return { op: 'add', path: '/rls', value: { [ownLocation[1] ?? '']: whole } };
  if (principal.kind === 'anonymous' || !isObject(json)) return { op: 'add', path, value: whole };
  const alternatives = Object.keys(json).length === 1 ? json.$or : undefined;
  if (location.at(-1) === ownLocation.at(-1) && Array.isArray(alternatives) && alternatives.length < maxConditions)
    return { op: 'add', path: `${path}/$or/-`, value: buildOpening(principal) };
  return { op: 'add', path, value: { $or: [json, buildOpening(principal)] } };
}

const buildOpening = (principal: Principal): unknown =>
  principal.kind === 'anonymous' ? true : { user_condition: { id: principal.id } };

/** A missing rule allows the app's managers. A rule can't tell them from others, but most of them have the role `admin`. */
const buildMissingRule = (principal: Principal): unknown =>
  principal.kind === 'anonymous' ? true : { $or: [{ user_condition: { role: 'admin' } }, buildOpening(principal)] };

function describeRuleChange(refusing: readonly JudgedRule[], principal: Principal, { deciding }: Judgement): string {
  const names = refusing.map(({ rule }) => `\`${rule.ownLocation.join('.')}\``).join(' and ');
  const noun = refusing.length === 1 ? 'the rule' : 'the rules';
  if (principal.kind === 'anonymous')
    return `Set ${noun} ${names} to true. This opens the operation to everyone, also to callers who are not signed in.`;
  const missing = listMissingAttributes(deciding, principal);
  const other =
    missing.length === 0
      ? 'To allow a group, compare with a role or an attribute instead.'
      : `Or give the caller the missing attribute ${missing.join(' and ')}.`;
  const isMissing = refusing.some(({ rule }) => rule.constant === 'missing');
  const others = isMissing
    ? "Without a rule, owners, editors and viewers of the app are allowed. The new rule allows them by the role `admin`, which viewers don't have: they lose access. Users of the app with that role gain it."
    : 'This allows nobody else.';
  return `Add a condition to ${noun} ${names} that ${principal.email} meets. ${others} ${other}`;
}

/** The templates of attributes that the principal would need for the deciding clauses not to be unknown. */
function listMissingAttributes(deciding: Judgement['deciding'], principal: Principal): string[] {
  const unknown = deciding.filter(({ possible }) => possible === verdictSets.unknown).map(({ clause }) => clause);
  const attributes = unknown.flatMap(({ subject, operand }) => [
    ...(subject !== undefined && 'attribute' in subject ? [subject.attribute] : []),
    ...[...JSON.stringify(operand).matchAll(/\{\{user\.([\w.]+)\}\}/g)].map(([, name = '']) => name),
  ]);
  const missing = new Set(attributes.filter((name) => readTestedAttribute(name, principal) === undefined));
  return [...missing].map((name) => `\`{{user.${name}}}\``);
}

// ---- the record, or the fields that are sent

interface DocumentChange extends Suggestion {
  /** Whether it would also allow the operation to a user whom nothing is known of. A change of the rule opens less. */
  readonly allowsStrangers: boolean;
}

function suggestDocumentChange(scene: Scene, judgement: Judgement, budget: StepBudget): DocumentChange | undefined {
  const target = findTarget(scene.situation, judgement);
  if (target === undefined) return undefined;
  const refused = judgement.fields.filter(({ decision }) => decision !== 'allow').map(({ name }) => name);
  const removals = judgement.areFieldsRequired
    ? refused.map((name): PatchOperation => ({ op: 'remove', path: toPointer([name]) }))
    : [];
  const stepsPerTry = countTextSteps(JSON.stringify(scene.documents).length);
  const rebuild = (patch: readonly PatchOperation[]): Situation | undefined => {
    spendSteps(budget, stepsPerTry);
    const document = applyPatch(scene.documents[target] ?? {}, patch) as Record<string, unknown>; // it stays an object
    return scene.rebuild({ ...scene.documents, [target]: document });
  };
  const tryPatch = (patch: readonly PatchOperation[]): boolean => {
    const situation = rebuild(patch);
    return situation !== undefined && isAllowed(situation, budget);
  };
  const resolve = (clause: Clause) => resolveClauseOperand(clause, scene.situation.principal, budget);
  const fields = listChangeableFields(judgement, resolve);
  const remaining = applyPatch(scene.documents[target] ?? {}, removals);
  const candidates = fields.flatMap((field) => listCandidates(field, remaining, budget));
  const patch = findPatch(removals, candidates, tryPatch);
  if (patch === undefined) return undefined;
  // A record of `create` and a patch are what one caller sends. A stored record is open to whom the rules allow it.
  const isShared = target === 'record' && scene.situation.operation !== 'create';
  const text =
    describeDocumentChange(patch, target) +
    (isShared ? ' This also allows everyone else whom the rule then covers.' : '');
  const changed = isShared ? rebuild(patch) : undefined;
  return { text, target, patch, allowsStrangers: changed !== undefined && mayStrangers(changed, budget) };
}

const stranger: Principal = {
  kind: 'signed_in',
  isManager: false,
  id: 'stranger',
  email: '',
  full_name: '',
  role: 'user',
  data: {},
};

/** What depends on hidden values may be allowed. */
const mayStrangers = (situation: Situation, budget: StepBudget): boolean =>
  ['allow', 'hidden'].includes(judgeOperation({ ...situation, principal: stranger }, budget).decision);

/** The document whose change could allow the operation: not both of an update at a time. */
function findTarget({ operation }: Situation, { rules, fields }: Judgement): 'record' | 'patch' | undefined {
  if (operation !== 'update') return 'record';
  const [row, check] = rules.map(({ decision }) => decision === 'allow');
  if (row) return 'patch';
  return check !== false && fields.every(({ decision }) => decision === 'allow') ? 'record' : undefined;
}

const maxTries = 300;

function findPatch(
  removals: readonly PatchOperation[],
  candidates: readonly PatchOperation[],
  tryPatch: (patch: readonly PatchOperation[]) => boolean,
): readonly PatchOperation[] | undefined {
  if (removals.length > 0 && tryPatch(removals)) return removals;
  const found = candidates.slice(0, maxTries).find((change) => tryPatch([...removals, change]));
  return found && [...removals, found];
}

function describeDocumentChange(patch: readonly PatchOperation[], target: 'record' | 'patch'): string {
  const text = patch.map((operation) => describeOperation(operation, target)).join(', and ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function describeOperation(operation: PatchOperation, target: 'record' | 'patch'): string {
  const [path = ''] = operation.path.slice(1).split('/-');
  const name = `\`${path.replaceAll('/', '.')}\``;
  if (operation.op === 'remove') return `leave ${name} out of the ${target}`;
  const value = JSON.stringify(operation.value);
  if (operation.path.endsWith('/-')) return `add ${value} to ${name} of the ${target}`;
  return `set ${name} of the ${target} to ${value}`;
}
