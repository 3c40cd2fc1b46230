// Finds what a new rule opens: a caller and a record that it allows but the old rule denied, if there are any.
//
// Worked example: the read rule changes from { "created_by_id": "{{user.id}}" } to
//
//   { "$or": [ { "created_by_id": "{{user.id}}" }, { "data.state": "published" } ] }
//
// For an anonymous caller, both are false. For any user (with id u), the new rule becomes
// `or(creator is u, state is published)`, and the old rule becomes `creator is u`. The search needs a record that meets
// the first but not the second:
//
//   and( or(creator is u, state is published), creator is not u )
//
// A creator other than u and the state "published" make it true (search.ts), so the result is any user and the record
// `{ "state": "published" }`. The record is then built, and both rules are evaluated on it as they would be for a
// request, so a reported opening is never wrong.
import type { Principal } from '../../../../core/auth/principal.ts';
import { newStepBudget, type StepBudget, StepBudgetExceeded, spendSteps } from '../budget.ts';
import { decideRule } from '../decision/decide.ts';
import { evaluate } from '../decision/evaluate.ts';
import { type FieldRules, findGoverningRules } from '../field-rules.ts';
import type { Rules } from '../grammar.ts';
import type { DataRecord, Rule } from '../rule.ts';
import { isEqual } from '../values.ts';
import { anonymousCaller, type Caller, listCallers } from './callers.ts';
import { isImplied, toRuleText } from './proof.ts';
import { createRecordSpace, type RecordSpace, type Side } from './records.ts';
import { type Formula, findAssignment, toFormula } from './search.ts';
import type { Doubt, ObjectShape } from './values.ts';

export const openingOperations = ['create', 'read', 'update', 'delete', 'update_check'] as const;
export type OpeningOperation = (typeof openingOperations)[number];

/**
 * `any_user` is an app user with the role `user` and no attributes, who did not create the record. `creator` is the
 * same user, but created the record. `some_user` is a user with certain attributes.
 */
export const callerKinds = ['anonymous', 'any_user', 'creator', 'some_user'] as const;
export type CallerKind = (typeof callerKinds)[number];

export interface Opening {
  readonly principal: CallerKind;
  /** The attributes in which `some_user` differs from `any_user`. */
  readonly attributes: Readonly<Record<string, unknown>> | null;
  /** The relevant part of the record, as stored or, for create, as sent. */
  readonly record: Readonly<Record<string, unknown>>;
  /** The fields that an update must send. */
  readonly change: Readonly<Record<string, unknown>> | null;
}

/**
 * `none` means that nothing becomes open. `undecided` means that nothing was found, but that an opening may exist,
 * because the search took too many steps or could not try all relevant values.
 */
export type OpeningResult = { readonly opening: Opening } | 'none' | 'undecided';

export interface RulesOfRecords {
  readonly rules: Rules;
  readonly fieldRules: FieldRules;
  readonly shape: ObjectShape;
}

/** `before` contains the previous rules. */
export function findOpening(
  {
    operation,
    before,
    after,
    callers,
    budget = newStepBudget(),
  }: {
    readonly operation: OpeningOperation;
    readonly before: Rules;
    readonly after: RulesOfRecords;
    readonly callers: readonly CallerKind[];
    readonly budget?: StepBudget;
  },
  now: Date,
): OpeningResult {
  if (isSameRule(before[operation], after.rules[operation])) return 'none';
  try {
    const question: Question = { operation, before, after, now, budget, doubt: { isRaised: false } };
    if (isProven(question)) return 'none';
    const opening = searchOpening(question, new Set(callers));
    if (opening !== undefined) return { opening };
    return question.doubt.isRaised ? 'undecided' : 'none';
  } catch (error) {
    if (error instanceof StepBudgetExceeded) return 'undecided';
    throw error;
  }
}

/** Uses at most a tenth of the steps, so most are left for the search. */
function isProven({ operation, before, after, budget }: Question): boolean {
  const proofBudget = { steps: Math.floor(budget.steps / 10) };
  try {
    return isImplied(
      orEveryone(operation, before[operation]),
      orEveryone(operation, after.rules[operation]),
      proofBudget,
    );
  } catch (error) {
    if (error instanceof StepBudgetExceeded) return false;
    throw error;
  } finally {
    spendSteps(budget, Math.floor(budget.steps / 10) - Math.max(proofBudget.steps, 0));
  }
}

const isSameRule = (a: Rule, b: Rule): boolean => toRuleText(a) === toRuleText(b);

interface Question {
  readonly operation: OpeningOperation;
  readonly before: Rules;
  readonly after: RulesOfRecords;
  readonly now: Date;
  readonly budget: StepBudget;
  readonly doubt: Doubt;
}

function searchOpening(question: Question, kinds: ReadonlySet<CallerKind>): Opening | undefined {
  if (kinds.has('anonymous')) {
    const found = searchRecord(question, anonymousCaller, false);
    if (found !== undefined) return { ...found, principal: 'anonymous', attributes: null };
  }
  const { before, after, budget, doubt } = question;
  const rulesBefore = listRelevantRules(question, before);
  const rulesAfter = [...listRelevantRules(question, after.rules), ...listRelevantFieldRules(question)];
  for (const caller of listCallers({ before: rulesBefore, after: rulesAfter, shape: after.shape, budget, doubt })) {
    const found = searchForCaller(question, caller, kinds);
    if (found !== undefined) return found;
    if (!kinds.has('some_user')) return undefined;
  }
  return undefined;
}

const isUpdating = (operation: OpeningOperation): boolean => operation === 'update' || operation === 'update_check';

const listRelevantRules = ({ operation }: Question, rules: Rules): Rule[] =>
  isUpdating(operation) ? [rules.update, rules.update_check] : [rules[operation]];

function listRelevantFieldRules({ operation, after }: Question): Rule[] {
  if (operation === 'create') return listFieldRules(after, 'create').map(({ rule }) => rule);
  return isUpdating(operation) ? listFieldRules(after, 'update').map(({ rule }) => rule) : [];
}

/** The rules that govern writes to each field. */
const listFieldRules = (
  { fieldRules, shape }: RulesOfRecords,
  operation: 'create' | 'update',
): { name: string; rule: Rule }[] =>
  fieldRules[operation].inner.size === 0
    ? []
    : [...shape.fields.keys()].flatMap((name) =>
        findGoverningRules(fieldRules, [name], operation).map((rule) => ({ name, rule })),
      );

function searchForCaller(
  question: Question,
  { principal, attributes }: Caller,
  kinds: ReadonlySet<CallerKind>,
): Opening | undefined {
  if (Object.keys(attributes).length > 0) {
    const found = searchRecord(question, principal, false);
    return found && { ...found, principal: 'some_user', attributes };
  }
  if (kinds.has('any_user')) {
    const found = searchRecord(question, principal, true);
    if (found !== undefined) return { ...found, principal: 'any_user', attributes: null };
  }
  if (!kinds.has('creator') || question.operation === 'create') return undefined;
  const found = searchRecord(question, principal, false);
  return found && { ...found, principal: 'creator', attributes: null };
}

type FoundRecord = Pick<Opening, 'record' | 'change'>;

/** If `isStranger` is set, the caller must not be the record's creator. */
function searchRecord(question: Question, principal: Principal, isStranger: boolean): FoundRecord | undefined {
  const { operation } = question;
  const plans: readonly Plan[] =
    operation === 'update'
      ? [{ after: 'stored' }, { after: 'changed' }]
      : [{ after: operation === 'update_check' ? 'changed' : 'stored' }];
  for (const plan of plans) {
    const found = searchWithPlan(question, principal, isStranger, plan);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Plan {
  /** The record that results from an update: `stored` if the update leaves it unchanged. */
  readonly after: Side;
  /** Fields that the caller may not always change. Either they stay unchanged, or their rules must allow the change. */
  readonly guarded?: { readonly names: ReadonlySet<string>; readonly as: 'unchanged' | 'allowed' };
}

function searchWithPlan(
  question: Question,
  principal: Principal,
  isStranger: boolean,
  plan: Plan,
): FoundRecord | undefined {
  const { operation, budget, doubt } = question;
  const requirements = listRequirements(question, plan.after);
  const space = createSpace(question, principal, plan);
  const goals = listGoals({ question, principal, isStranger, plan, requirements, space });
  const values = findAssignment(goals, space.findValue, budget);
  if (values === undefined) return undefined;
  const records = { stored: space.toRecord(values, 'stored'), changed: space.toRecord(values, 'changed') };
  const isRight = requirements.every(
    ({ rule, side, isMet }) => (evaluate(rule, principal, records[side], budget) === true) === isMet,
  );
  const change = plan.after === 'changed' ? listChanges(records.stored, records.changed) : {};
  const refused = isUpdating(operation) ? listRefused(question, principal, records.stored, change) : [];
  if (isRight && refused.length === 0)
    return {
      record: space.present(values),
      change: isUpdating(operation) ? (space.withTemplates(change) as Record<string, unknown>) : null,
    };
  if (!isRight || plan.guarded !== undefined) {
    doubt.isRaised = true;
    return undefined;
  }
  const names = new Set(refused);
  return (
    searchWithPlan(question, principal, isStranger, { ...plan, guarded: { names, as: 'unchanged' } }) ??
    searchWithPlan(question, principal, isStranger, { ...plan, guarded: { names, as: 'allowed' } })
  );
}

const nothing: ReadonlySet<string> = new Set();

const createSpace = ({ operation, after, now, budget, doubt }: Question, principal: Principal, { guarded }: Plan) =>
  createRecordSpace({
    shape: after.shape,
    principal,
    isNew: operation === 'create',
    unchanged: guarded?.as === 'unchanged' ? guarded.names : nothing,
    now,
    budget,
    doubt,
  });

function listGoals({
  question: { operation, after, budget },
  principal,
  isStranger,
  plan: { guarded },
  requirements,
  space,
}: {
  readonly question: Question;
  readonly principal: Principal;
  readonly isStranger: boolean;
  readonly plan: Plan;
  readonly requirements: readonly Requirement[];
  readonly space: RecordSpace;
}): Formula[] {
  const require = (rule: Rule, side: Side, isMet: boolean) =>
    toFormula(decideRule(rule, principal, budget), isMet, space.locate(side), budget);
  const goals = requirements.map(({ rule, side, isMet }) => require(rule, side, isMet));
  if (operation === 'create') {
    // A field that is sent must also be allowed by its own rules.
    for (const { name, rule } of listFieldRules(after, 'create'))
      goals.push({ kind: 'or', parts: [space.isMissing(name), require(rule, 'stored', true)] });
    return goals;
  }
  if (guarded?.as === 'allowed')
    for (const { name, rule } of listFieldRules(after, 'update'))
      if (guarded.names.has(name)) goals.push(require(rule, 'stored', true));
  if (isStranger) goals.push(space.notCreatedByCaller);
  return goals;
}

interface Requirement {
  readonly rule: Rule;
  readonly side: Side;
  readonly isMet: boolean;
}

/** The conditions under which the request succeeds now but was denied before. */
function listRequirements({ operation, before, after }: Question, side: Side): Requirement[] {
  const { rules } = after;
  const opened = (which: Side): Requirement[] => [
    { rule: orEveryone(operation, rules[operation]), side: which, isMet: true },
    { rule: orEveryone(operation, before[operation]), side: which, isMet: false },
  ];
  if (operation === 'update')
    return [...opened('stored'), { rule: orEveryone('update_check', rules.update_check), side, isMet: true }];
  if (operation === 'update_check') return [...opened('changed'), { rule: rules.update, side: 'stored', isMet: true }];
  return opened('stored');
}

/** Without `update_check`, nothing is checked. */
const orEveryone = (operation: OpeningOperation, rule: Rule): Rule =>
  operation === 'update_check' && rule === 'missing' ? 'everyone' : rule;

/** The fields that an update must send. Null removes a field. */
function listChanges(stored: DataRecord, changed: DataRecord): Record<string, unknown> {
  const names = new Set([...Object.keys(stored.data), ...Object.keys(changed.data)]);
  const differing = [...names].filter((name) => !isEqual(stored.data[name], changed.data[name]));
  return Object.fromEntries(differing.map((name) => [name, changed.data[name] ?? null]));
}

/** The changed fields that are denied by their own rules. */
function listRefused({ after, budget }: Question, principal: Principal, record: DataRecord, change: object): string[] {
  return Object.keys(change).filter((name) =>
    findGoverningRules(after.fieldRules, [name], 'update').some(
      (rule) => evaluate(rule, principal, record, budget) !== true,
    ),
  );
}
