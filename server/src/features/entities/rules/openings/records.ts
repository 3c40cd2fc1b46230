// The records that the search for openings can construct: their automatic columns, their data, and how they are
// shown.
import type { Principal, SignedIn } from '../../../../core/auth/principal.ts';
import { type StepBudget, spendSteps } from '../budget.ts';
import type { DataRecord } from '../rule.ts';
import { isObject } from '../values.ts';
import { isPlaceholder } from './callers.ts';
import { createValueContext, type FindValue, type Formula, type Locate } from './search.ts';
import {
  type Doubt,
  findCandidate,
  findFittingValue,
  type Literal,
  listConstants,
  type ObjectShape,
} from './values.ts';

/** The stored record, or the record after an update. Both have the same automatic columns. */
export type Side = 'stored' | 'changed';

type Values = ReadonlyMap<string, unknown>;

export interface RecordSpace {
  locate(side: Side): Locate;
  readonly findValue: FindValue;
  readonly notCreatedByCaller: Formula;
  isMissing(name: string): Formula;
  toRecord(values: Values, side: Side): DataRecord;
  /**
   * The stored record as callers see it, limited to the fields that the rules test. If `created_by` is absent, another
   * user created the record.
   */
  present(values: Values): Record<string, unknown>;
  /** Replaces the caller's id, e-mail address and name with their templates. */
  withTemplates(value: unknown): unknown;
}

interface SpaceInput {
  readonly shape: ObjectShape;
  readonly principal: Principal;
  /** Whether the caller is creating the record. */
  readonly isNew: boolean;
  /** Fields that an update does not change. */
  readonly unchanged: ReadonlySet<string>;
  readonly now: Date;
  readonly budget: StepBudget;
  readonly doubt: Doubt;
}

/** Both columns are chosen together, because they name the same person. */
interface Creator {
  readonly created_by: string;
  readonly created_by_id: string;
}

const nobody: Creator = { created_by: 'anonymous', created_by_id: 'anonymous' };
const dataPrefix = { stored: 'stored ', changed: 'changed ' } as const;

// Creating a space takes about as long as this many steps.
const spaceSteps = 100;

export function createRecordSpace(input: SpaceInput): RecordSpace {
  const { shape, principal, isNew, unchanged, budget, doubt } = input;
  spendSteps(budget, spaceSteps);
  const context = createValueContext(budget, doubt);
  const caller = principal.kind === 'signed_in' ? { created_by: principal.email, created_by_id: principal.id } : nobody;
  const columns = createColumns(input, caller);

  const locate =
    (side: Side): Locate =>
    (path) => {
      if (path.column === 'created_by' || path.column === 'created_by_id')
        return { variable: 'creator', names: [path.column] };
      if (path.column === 'updated_date' && side === 'changed') return { variable: 'changed_date', names: [] };
      if (path.column !== undefined) return { variable: path.column, names: [] };
      const [name = '', ...names] = path.names;
      return { variable: dataPrefix[unchanged.has(name) ? 'stored' : side] + name, names };
    };

  const findValue: FindValue = (variable, literals) => {
    const list = columns[variable];
    if (list !== undefined) {
      const found = findCandidate(list(literals), literals, context);
      if (found === undefined && !isNew && literals.some((literal) => isHardForColumn(variable, literal)))
        doubt.isRaised = true;
      return found;
    }
    const name = variable.slice(variable.indexOf(' ') + 1);
    const field = shape.fields.get(name);
    if (field === undefined) return findCandidate([undefined], literals, context);
    const mayBeMissing = !shape.required.has(name) && !(isNew && field.hasDefault);
    return findFittingValue(field, literals, mayBeMissing, context);
  };

  const readColumn = (values: Values, name: string): unknown =>
    values.has(name) ? values.get(name) : findValue(name, [])?.value;

  // Data that is not tested after an update keeps its stored value.
  const readData = (values: Values, side: Side): Record<string, unknown> => {
    const read = (prefix: string) =>
      [...values]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, value]): [string, unknown] => [name.slice(prefix.length), value]);
    const entries = new Map([...read(dataPrefix.stored), ...(side === 'changed' ? read(dataPrefix.changed) : [])]);
    return Object.fromEntries([...entries].filter(([, value]) => value !== undefined));
  };

  const withTemplates = (value: unknown): unknown => {
    if (principal.kind !== 'signed_in') return value;
    if (typeof value === 'string') return insertTemplates(value, principal);
    if (Array.isArray(value)) return value.map(withTemplates);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTemplates(inner)]));
  };

  return {
    locate,
    findValue,
    withTemplates,
    notCreatedByCaller: {
      kind: 'and',
      parts: (['created_by', 'created_by_id'] as const).map((name) => ({
        kind: 'leaf',
        variable: 'creator',
        literal: { names: [name], test: { op: 'eq', operand: { kind: 'value', value: caller[name] } }, wanted: false },
      })),
    },
    isMissing: (name) => ({
      kind: 'leaf',
      variable: dataPrefix.stored + name,
      literal: { names: [], test: { op: 'exists' }, wanted: false },
    }),
    toRecord(values, side) {
      const creator = readColumn(values, 'creator') as Creator;
      return {
        id: readColumn(values, 'id') as string,
        ...creator,
        created_date: readColumn(values, 'created_date') as string,
        updated_date: readColumn(values, side === 'changed' ? 'changed_date' : 'updated_date') as string,
        is_sample: readColumn(values, 'is_sample') === true,
        data: readData(values, side),
      };
    },
    present(values) {
      const { creator, ...rest } = Object.fromEntries(
        [...values].filter(([name]) => columns[name] !== undefined && name !== 'changed_date'),
      );
      const isNamed = creator !== otherCreator && creator !== undefined;
      const shown = isNew ? {} : { ...rest, ...(isNamed && (creator as Creator)) };
      return withTemplates({ ...shown, ...readData(values, 'stored') }) as Record<string, unknown>;
    },
  };
}

function insertTemplates(text: string, principal: SignedIn): string {
  let inserted = text;
  for (const name of ['id', 'email', 'full_name'] as const)
    if (isPlaceholder(principal[name])) inserted = inserted.replaceAll(principal[name], `{{user.${name}}}`);
  return inserted;
}

type ListValues = (literals: readonly Literal[]) => Iterable<unknown>;

const someId = '0198c208-0000-7000-8000-0000000000ff';
const otherCreator: Creator = {
  created_by: 'another-user@app.example',
  created_by_id: '0198c208-0000-7000-8000-0000000000fe',
};
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The values to try for each automatic column. */
function createColumns({ isNew, now }: SpaceInput, caller: Creator): Readonly<Record<string, ListValues>> {
  const present = now.toISOString();
  const dates: ListValues = (literals) => (isNew ? [present] : listDates(literals, now));
  return {
    id: (literals) => (isNew ? [someId] : listIds(literals)),
    creator: (literals) => (isNew ? [caller] : listCreators(literals, caller)),
    created_date: dates,
    updated_date: dates,
    changed_date: () => [present],
    is_sample: () => (isNew ? [false] : [false, true]),
  };
}

/** Whether the tried values may miss a value that the test distinguishes. */
function isHardForColumn(variable: string, { test }: Literal): boolean {
  if (variable === 'is_sample' || test.op === 'eq' || test.op === 'in') return false;
  const isDate = variable === 'created_date' || variable === 'updated_date';
  return !isDate || listConstants(test).some((value) => typeof value === 'string' && Number.isNaN(parseDate(value)));
}

const listTextConstants = (literals: readonly Literal[], column?: string): string[] =>
  literals
    .filter(({ names }) => column === undefined || names[0] === column)
    .flatMap(({ test }) => listConstants(test))
    .filter((value) => typeof value === 'string');

function* listIds(literals: readonly Literal[]): Generator<string> {
  yield someId;
  yield* listTextConstants(literals).filter((text) => uuidForm.test(text));
  yield* ['00000000-0000-4000-8000-000000000000', '80000000-0000-4000-8000-000000000000'];
  yield 'ffffffff-ffff-4fff-bfff-ffffffffffff';
}

/**
 * Another person, the caller, an anonymous creator, and the creators named in the rules. The caller's own address and
 * id are always used together.
 */
function* listCreators(literals: readonly Literal[], caller: Creator): Generator<Creator> {
  yield* [otherCreator, caller, nobody];
  const listNamed = (column: keyof Creator) =>
    listTextConstants(literals, column).filter((text) => text !== caller[column] && text !== '');
  const emails = listNamed('created_by').flatMap((text) => [text, `${text} `]);
  const ids = listNamed('created_by_id').flatMap((text) => [text, `${text} `]);
  for (const created_by of emails) yield { ...otherCreator, created_by };
  for (const created_by_id of ids) yield { ...otherCreator, created_by_id };
  for (const created_by of emails) for (const created_by_id of ids) yield { created_by, created_by_id };
}

const earliest = '0001-01-01T00:00:00.000Z';
const parseDate = (text: string): number => Date.parse(text + earliest.slice(text.length));
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Yesterday, the times named in the rules, and the milliseconds just before and after them. A rule may also name a
 * whole day or a whole year, such as `2026`.
 */
function* listDates(literals: readonly Literal[], now: Date): Generator<string> {
  yield new Date(now.getTime() - dayMs).toISOString();
  for (const text of listTextConstants(literals)) {
    const time = parseDate(text);
    if (Number.isNaN(time)) continue;
    for (const each of [time, time + 1, time - 1]) {
      const date = new Date(each);
      if (date.getUTCFullYear() > 0 && date.getUTCFullYear() < 10_000) yield date.toISOString();
    }
  }
  yield* [earliest, '9999-12-31T23:59:59.999Z', now.toISOString()];
}
