// Turns a caller's source into a definition that can run, or into a list of faults
// (docs/api/workflows.md#definitions).
import type { Jq } from '../../../kit/jq/index.ts';
import { scanFilter } from '../../../kit/jq/scan.ts';
import { isStorableText } from '../../../kit/text.ts';
import { hashDefinition } from './hash.ts';
import type { Definition, Fault } from './model.ts';
import {
  createFindings,
  type Fields,
  type Findings,
  type FoundExpression,
  fault,
  type Place,
  readObject,
  readText,
  step,
} from './source.ts';
import { readTasks } from './tasks.ts';
import { taskVariables } from './values.ts';

const maxBytes = 128 * 1024;
const maxLevels = 64;
const maxExpressions = 500;
const maxFaults = 100;

export type Parsed<Value> = { readonly ok: Value } | { readonly faults: readonly Fault[] };

/**
 * Checks the whole definition, including its expressions. `owner` is the expressions' owner (kit/jq). May throw
 * `JqBusy`.
 */
export async function parseDefinition(source: unknown, jq: Jq, owner?: string): Promise<Parsed<Definition>> {
  const { definition, findings } = readDefinition(source);
  await checkExpressions(findings, jq, owner);
  const faults = listFaults(findings);
  return faults.length > 0 || definition === undefined ? { faults } : { ok: definition };
}

/** Parses a definition that was checked when it was stored. Throws if the current rules no longer accept it. */
export function parseStored(source: unknown): Definition {
  const { definition, findings } = readDefinition(source);
  const [first] = listFaults(findings);
  if (first !== undefined || definition === undefined)
    throw new Error(`a stored definition is invalid: ${first?.path} ${first?.message}`);
  return definition;
}

function readDefinition(source: unknown): { readonly definition: Definition | undefined; readonly findings: Findings } {
  const findings = createFindings();
  const place: Place = { value: source, path: '', scope: taskVariables, findings };
  if (!isReadable(place)) return { definition: undefined, findings };
  const fields = readObject(place, ['document', 'do']);
  const name = fields && readDocument(fields);
  const list = fields?.require('do');
  const tasks = list === undefined ? [] : readTasks(list, 1);
  noteSecrets(findings);
  if (findings.expressions.length > maxExpressions)
    fault(place, `must not contain more than ${maxExpressions} expressions`);
  if (findings.faults.length > 0 || name === undefined) return { definition: undefined, findings };
  const { tasksByPath, secretNames, entityNames } = findings;
  const definition: Definition = {
    versionId: hashDefinition(source),
    name,
    tasks,
    tasksByPath,
    secretNames: [...secretNames].sort(),
    entityNames: [...entityNames].sort(),
  };
  return { definition, findings };
}

/**
 * Checks everything that could make the source expensive or impossible to read. The nesting is checked first, because
 * the functions after it are recursive.
 */
export function isReadable(place: Place): boolean {
  const before = place.findings.faults.length;
  if (!hasLevels(place.value, maxLevels)) fault(place, `must not be nested deeper than ${maxLevels} levels`);
  else if (Buffer.byteLength(JSON.stringify(place.value) ?? '') > maxBytes)
    fault(place, `must be at most ${maxBytes} bytes as JSON`);
  else checkTexts(place);
  return place.findings.faults.length === before;
}

const hasLevels = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => hasLevels(inner, levels - 1)));

function checkTexts(place: Place): void {
  const { value } = place;
  if (typeof value === 'string' && !isStorableText(value)) fault(place, notStorable);
  if (typeof value === 'number' && !Number.isFinite(value)) fault(place, 'must be a finite number');
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorableText(key)) fault(place, 'must not contain keys with NUL characters or unpaired surrogates');
    else if (!isHarmless(inner)) checkTexts(step(place, key, inner));
  }
}

/** Most values are harmless, and creating a place for each of them would take up most of the time. */
const isHarmless = (value: unknown): boolean =>
  typeof value === 'string'
    ? isStorableText(value)
    : Number.isFinite(value) || typeof value === 'boolean' || value === null;

const notStorable = 'must be valid Unicode text without NUL characters';

// ---- document

const labelForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const versionForm = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$/;

/** Returns the definition's name. */
function readDocument(fields: Fields): string | undefined {
  const place = fields.require('document');
  const document = place && readObject(place, ['dsl', 'namespace', 'name', 'version', 'title', 'summary']);
  if (document === undefined) return undefined;
  const read = (key: string, form: RegExp, message: string): string | undefined => {
    const field = document.require(key);
    if (field === undefined) return undefined;
    return typeof field.value === 'string' && form.test(field.value) ? field.value : fault(field, message);
  };
  read('dsl', /^1\.0\.\d{1,9}$/, 'must be version 1.0.x of the language, such as 1.0.0');
  const notLabel = 'must be 1 to 63 lower-case letters, digits and hyphens, without a hyphen at the start or end';
  read('namespace', labelForm, notLabel);
  const name = read('name', labelForm, notLabel);
  read('version', versionForm, 'must be a three-part version number, such as 1.0.0');
  for (const key of ['title', 'summary']) {
    const field = document.get(key);
    if (field !== undefined) readText(field, 2_000);
  }
  return name;
}

// ---- expressions

const secretForm = /^[A-Z][A-Z0-9_]{0,63}$/;
const notSecret = 'must not use $secrets except as $secrets.NAME, where NAME is the name of a secret';

/** Collects the names of the secrets that expressions read, because they must be known before a run starts. */
function noteSecrets(findings: Findings): void {
  for (const found of findings.expressions)
    for (const { name, field = '' } of scanFilter(found.expression).variables)
      if (name !== 'secrets') continue;
      else if (secretForm.test(field)) findings.secretNames.add(field);
      else addExpressionFault(findings, found, notSecret);
}

const addExpressionFault = ({ faults }: Findings, { order, path }: FoundExpression, message: string): void => {
  faults.push({ order, fault: { path, code: 'expression_syntax', message } });
};

/** Compiles the expressions. Those with the same text and variables are compiled only once. */
export async function checkExpressions(findings: Findings, jq: Jq, owner?: string): Promise<void> {
  if (findings.expressions.length > maxExpressions) return;
  const keyOf = ({ expression, scope }: FoundExpression) => JSON.stringify([scope, expression]);
  const distinct = new Map(findings.expressions.map((found) => [keyOf(found), found]));
  const filters = [...distinct.values()].map(({ expression, scope }) => ({ filter: expression, variables: scope }));
  const problems = await jq.checkAll(filters, owner);
  const problemByKey = new Map([...distinct.keys()].map((key, index) => [key, problems[index]]));
  for (const found of findings.expressions) {
    const problem = problemByKey.get(keyOf(found));
    if (problem !== undefined) addExpressionFault(findings, found, problem);
  }
}

/** Returns the faults in document order, with at most one fault per place. */
export function listFaults({ faults }: Findings): Fault[] {
  const byPath = new Map<string, Fault>();
  for (const { fault: each } of faults.toSorted((one, other) => one.order - other.order))
    if (!byPath.has(each.path)) byPath.set(each.path, each);
  return [...byPath.values()].slice(0, maxFaults);
}
