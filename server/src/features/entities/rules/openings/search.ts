// The search for values that make a formula true. A formula is the part of the rules that remains once the caller
// is known (decision/decide.ts). It consists of tests of values, joined by "and" and "or".
//
// The search is guided by a model. It takes the tests that must be true, finds a value for each tested field, and
// checks whether these values also make the rest true. If not, it picks an "or" that is false and tries its parts in
// turn. Fields are independent of each other, because a test compares a field with the caller or a constant, never with
// another field. A conjunction of tests can therefore be decided field by field.
import { type StepBudget, spendSteps } from '../budget.ts';
import { type Check, type Decision, decideCondition, type RecordFilter } from '../decision/decide.ts';
import type { Condition, Operand, Path, Test } from '../rule.ts';
import { isScalarValue } from '../values.ts';
import { type Doubt, findFittingValue, isMet, type Literal, type Shape, type ValueContext } from './values.ts';

export type Formula = boolean | Junction | Leaf;

interface Junction {
  readonly kind: 'and' | 'or';
  readonly parts: readonly Formula[];
}

/** A test of a variable's value. */
interface Leaf {
  readonly kind: 'leaf';
  readonly variable: string;
  readonly literal: Literal;
}

/** Maps a path to its variable and the remaining names inside that variable. */
export type Locate = (path: Path) => { readonly variable: string; readonly names: readonly string[] };

export type FindValue = (variable: string, literals: readonly Literal[]) => { readonly value: unknown } | undefined;

/** The formula that is true where the decision is true or, if `wanted` is false, where it is not. */
export function toFormula(decision: Decision, wanted: boolean, locate: Locate, budget: StepBudget): Formula {
  spendSteps(budget, 4);
  if (typeof decision === 'boolean') return decision === wanted;
  if ('parts' in decision) {
    const kind = (decision.kind === 'and') === wanted ? 'and' : 'or';
    return { kind, parts: decision.parts.map((part) => toFormula(part, wanted, locate, budget)) };
  }
  const { variable, names } = locate(decision.path);
  if ('values' in decision.check) spendSteps(budget, decision.check.values.length);
  const { test, isNegated } = toTest(decision.check);
  const isWanted = ((decision.kind === 'passes') === wanted) !== isNegated;
  return { kind: 'leaf', variable, literal: { names, test, wanted: isWanted } };
}

const toOperand = (value: unknown): Operand => ({ kind: 'value', value });

function toTest(check: Check): { test: Test; isNegated: boolean } {
  switch (check.op) {
    case 'in':
    case 'all': {
      const scalars = new Set(check.values.filter(isScalarValue));
      const others = check.values.filter((value) => !isScalarValue(value)).map(toOperand);
      return { test: { op: check.op, operands: { scalars, others } }, isNegated: false };
    }
    case 'some':
      return { test: { op: 'some', condition: toCondition(check.element) }, isNegated: false };
    // "Every element meets it" is written as "no element fails to meet it".
    case 'every': {
      const condition: Condition = { kind: 'nor', parts: [toCondition(check.element)] };
      return { test: { op: 'some', condition }, isNegated: true };
    }
    case 'eq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { test: { op: check.op, operand: toOperand(check.value) }, isNegated: false };
    default:
      return { test: check, isNegated: false };
  }
}

function toCondition(decision: Decision): Condition {
  if (typeof decision === 'boolean') return { kind: decision ? 'and' : 'or', parts: [] };
  if ('parts' in decision) return { kind: decision.kind, parts: decision.parts.map(toCondition) };
  return toFieldCondition(decision);
}

function toFieldCondition(filter: Extract<RecordFilter, { path: Path }>): Condition {
  const { test, isNegated } = toTest(filter.check);
  const condition: Condition = { kind: 'field', path: filter.path, test };
  return (filter.kind === 'passes') === isNegated ? { kind: 'nor', parts: [condition] } : condition;
}

/**
 * Returns values for the variables that make all formulas true, or undefined if there are none. Throws
 * StepBudgetExceeded.
 */
export function findAssignment(
  formulas: readonly Formula[],
  findValue: FindValue,
  budget: StepBudget,
): ReadonlyMap<string, unknown> | undefined {
  const search: Search = { findValue, budget, unconstrained: new Map() };
  const values = solve(search, formulas, new Map(), new Map());
  if (values === undefined) return undefined;
  const variables = new Set(formulas.flatMap((formula) => listVariables(formula, budget)));
  const found = [...variables].map((variable) => [variable, readVariable(search, values, variable)] as const);
  return new Map(found.flatMap(([variable, read]) => (read === undefined ? [] : [[variable, read.value]])));
}

interface Search {
  readonly findValue: FindValue;
  readonly budget: StepBudget;
  /** The values of variables that have no requirements. Undefined if no value is known. */
  readonly unconstrained: Map<string, { readonly value: unknown } | undefined>;
}

type Values = ReadonlyMap<string, unknown>;

function solve(
  search: Search,
  goals: readonly Formula[],
  literals: ReadonlyMap<string, readonly Literal[]>,
  values: Values,
): Values | undefined {
  const flat = flatten(goals, search.budget);
  if (flat === undefined) return undefined;
  const wanted = new Map(literals);
  spendSteps(search.budget, 4 + 2 * (literals.size + values.size + flat.choices.length));
  for (const { variable, literal } of flat.leaves) {
    const known = wanted.get(variable) ?? [];
    spendSteps(search.budget, known.length);
    wanted.set(variable, [...known, literal]);
  }
  const chosen = chooseValues(search, flat.leaves, wanted, values);
  if (chosen === undefined) return undefined;
  const unmet = flat.choices.filter((choice) => !isTrue(search, choice, chosen));
  const [first] = unmet;
  if (first === undefined) return chosen;
  const next = unmet.reduce((least, each) => (each.parts.length < least.parts.length ? each : least), first);
  const rest = flat.choices.filter((choice) => choice !== next);
  for (const part of next.parts) {
    const found = solve(search, [part, ...rest], wanted, chosen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Splits the goals into tests that must be true and alternatives to choose from. Returns undefined if a goal is false.
 */
function flatten(goals: readonly Formula[], budget: StepBudget): { leaves: Leaf[]; choices: Junction[] } | undefined {
  const leaves: Leaf[] = [];
  const choices: Junction[] = [];
  const queue = [...goals];
  for (const goal of queue) {
    spendSteps(budget, 2);
    if (goal === true) continue;
    if (goal === false) return undefined;
    if (goal.kind === 'leaf') leaves.push(goal);
    else if (goal.kind === 'and') queue.push(...goal.parts);
    else choices.push(goal);
  }
  return { leaves, choices };
}

/** Chooses new values where the previously chosen ones do not meet the new literals. */
function chooseValues(
  { findValue, budget }: Search,
  leaves: readonly Leaf[],
  wanted: ReadonlyMap<string, readonly Literal[]>,
  values: Values,
): Values | undefined {
  const chosen = new Map(values);
  for (const { variable, literal } of leaves) {
    if (chosen.has(variable) && isMet(literal, chosen.get(variable), budget)) continue;
    const found = findValue(variable, wanted.get(variable) ?? []);
    if (found === undefined) return undefined;
    chosen.set(variable, found.value);
  }
  return chosen;
}

function readVariable({ findValue, unconstrained }: Search, values: Values, variable: string) {
  if (values.has(variable)) return { value: values.get(variable) };
  if (!unconstrained.has(variable)) unconstrained.set(variable, findValue(variable, []));
  return unconstrained.get(variable);
}

function isTrue(search: Search, formula: Formula, values: Values): boolean {
  spendSteps(search.budget, 1);
  if (typeof formula === 'boolean') return formula;
  if (formula.kind === 'leaf') {
    const read = readVariable(search, values, formula.variable);
    return read !== undefined && isMet(formula.literal, read.value, search.budget);
  }
  const isPartTrue = (part: Formula) => isTrue(search, part, values);
  return formula.kind === 'and' ? formula.parts.every(isPartTrue) : formula.parts.some(isPartTrue);
}

function listVariables(formula: Formula, budget: StepBudget): string[] {
  spendSteps(budget, 1);
  if (typeof formula === 'boolean') return [];
  return formula.kind === 'leaf' ? [formula.variable] : formula.parts.flatMap((part) => listVariables(part, budget));
}

/** Creates a context for finding values. Objects in arrays are found by a separate search. */
export function createValueContext(budget: StepBudget, doubt: Doubt): ValueContext {
  const locate: Locate = (path) => {
    const [variable = '', ...names] = path.column === undefined ? path.names : [];
    return { variable, names };
  };
  const context: ValueContext = {
    budget,
    doubt,
    findObject(shape, met, unmet) {
      const properties = shape === 'any' ? undefined : shape.properties;
      if (shape !== 'any' && !shape.types.includes('object')) return undefined;
      const shapeOf = (name: string): Shape | undefined =>
        properties === undefined ? 'any' : properties.fields.get(name);
      const findValue: FindValue = (name, literals) => {
        const inner = shapeOf(name);
        if (inner === undefined) return literals.every((each) => isMet(each, undefined, budget)) ? missing : undefined;
        return findFittingValue(inner, literals, !properties?.required.has(name), context);
      };
      const decide = (condition: Condition, verdict: boolean) =>
        toFormula(decideCondition(condition, undefined, verdict, budget), true, locate, budget);
      const goals = [...met.map((each) => decide(each, true)), ...unmet.map((each) => decide(each, false))];
      const found = findAssignment(goals, findValue, budget);
      if (found === undefined) return undefined;
      const required = [...(properties?.required ?? [])].filter((name) => !found.has(name));
      const entries = [...found, ...required.map((name) => [name, findValue(name, [])?.value] as const)];
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    },
  };
  return context;
}

const missing = { value: undefined };
