// Suggests the smallest change to the schema's rules or to the documents in the request that would allow an
// operation. Every suggestion is tested before it is returned.
import type { Principal } from '../../../core/auth/principal.ts';
import { countTextSteps, type StepBudget, StepBudgetExceeded, spendSteps } from '../rules/budget.ts';
import { type Clause, readTestedAttribute, resolveClauseOperand } from '../rules/decision/clauses.ts';
import { verdictSets } from '../rules/decision/verdict-set.ts';
import { parseFieldRules } from '../rules/field-rules.ts';
import { parseRules } from '../rules/grammar.ts';
import type { SchemaProperties } from '../rules/properties.ts';
import { isObject } from '../rules/values.ts';
import { applyPatch, type PatchOperation, toPointer } from './json-patch.ts';
import { type JudgedRule, type Judgement, judgeOperation, type Situation } from './judgement.ts';
import type { LocatedRule } from './located-rules.ts';
import { listCandidates, listChangeableFields } from './record-candidates.ts';
import type { Scene } from './scene.ts';

interface Suggestion {
  readonly text: string;
  /** The document that the patch applies to: the schema document, or the record or patch in the question. */
  readonly target: 'rule' | 'record' | 'patch';
  readonly patch: readonly PatchOperation[];
}

/**
 * Returns null if the operation is allowed, if the decision depends on hidden values, or if no small change would allow
 * the operation.
 */
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

// ---- changes to rules

function suggestRuleChange(situation: Situation, judgement: Judgement, budget: StepBudget): Suggestion | undefined {
  const { schema, principal } = situation;
  const refusing = listRefusingRules(judgement);
  const patch = refusing.map(({ rule }) => openRule(schema, rule, principal));
  const changed = applyPatch({ rls: schema.rls, properties: schema.properties }, patch) as Pick<
    typeof schema, // adding a rule does not change the shape of either member
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

/**
 * Extends a rule with a condition that only this principal meets. For anonymous callers the rule becomes `true`,
 * because no other rule allows them anything.
 */
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

/** A missing rule allows the app's managers. A rule can't identify managers, but most of them have the role `admin`. */
const buildMissingRule = (principal: Principal): unknown =>
  principal.kind === 'anonymous' ? true : { $or: [{ user_condition: { role: 'admin' } }, buildOpening(principal)] };

function describeRuleChange(refusing: readonly JudgedRule[], principal: Principal, { deciding }: Judgement): string {
  const names = refusing.map(({ rule }) => `\`${rule.ownLocation.join('.')}\``).join(' and ');
  const noun = refusing.length === 1 ? 'the rule' : 'the rules';
  if (principal.kind === 'anonymous')
    return `Set ${noun} ${names} to true. This opens the operation to everyone, including callers who aren't signed in.`;
  const missing = listMissingAttributes(deciding, principal);
  const other =
    missing.length === 0
      ? 'To allow a group, test for a role or an attribute instead.'
      : `Alternatively, give the caller the missing attribute ${missing.join(' and ')}.`;
  const isMissing = refusing.some(({ rule }) => rule.constant === 'missing');
  const others = isMissing
    ? "Without a rule, the app's owners, editors and viewers are allowed. The new rule allows the role `admin` instead. Viewers don't have it and lose access; app users who have it gain access."
    : 'This allows no one else.';
  return `Add a condition to ${noun} ${names} that ${principal.email} meets. ${others} ${other}`;
}

/** Lists the templates of the missing attributes that make the deciding clauses unknown. */
function listMissingAttributes(deciding: Judgement['deciding'], principal: Principal): string[] {
  const unknown = deciding.filter(({ possible }) => possible === verdictSets.unknown).map(({ clause }) => clause);
  const attributes = unknown.flatMap(({ subject, operand }) => [
    ...(subject !== undefined && 'attribute' in subject ? [subject.attribute] : []),
    ...[...JSON.stringify(operand).matchAll(/\{\{user\.([\w.]+)\}\}/g)].map(([, name = '']) => name),
  ]);
  const missing = new Set(attributes.filter((name) => readTestedAttribute(name, principal) === undefined));
  return [...missing].map((name) => `\`{{user.${name}}}\``);
}

// ---- changes to the record or to the fields that are sent

interface DocumentChange extends Suggestion {
  /**
   * Whether the change would also allow an unrelated user to perform the operation. If so, changing the rule grants
   * less access.
   */
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
    const document = applyPatch(scene.documents[target] ?? {}, patch) as Record<string, unknown>; // always an object
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
  // A new record or a patch affects only the caller who sends it, while a stored record is open to everyone whom the
  // rules allow.
  const isShared = target === 'record' && scene.situation.operation !== 'create';
  const text =
    describeDocumentChange(patch, target) +
    (isShared ? ' This also allows everyone else who then matches the rule.' : '');
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

/** A decision that depends on hidden values may turn out to be `allow`, so it counts as allowed. */
const mayStrangers = (situation: Situation, budget: StepBudget): boolean =>
  ['allow', 'hidden'].includes(judgeOperation({ ...situation, principal: stranger }, budget).decision);

/** The document to change. For an update, either the record or the patch is changed, never both. */
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
  if (operation.path.endsWith('/-')) return `add ${value} to ${name} in the ${target}`;
  return `set ${name} in the ${target} to ${value}`;
}
