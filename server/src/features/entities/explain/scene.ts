// The records that an explanation is about: either the readable part of a stored record, or a proposed record.
// Builds them as the operation itself would, and rebuilds them from a changed record or patch to test the effect of a
// change.
import { z } from 'zod';
import type { Principal } from '../../../core/auth/principal.ts';
import { parse } from '../../../kit/http/faults.ts';
import { id, queryTime, text } from '../../../kit/http/shapes.ts';
import { newId } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import {
  buildNewData,
  buildNewRecord,
  collectFaults,
  mayKnowOf,
  mergeData,
  recordNotFound,
} from '../records/change.ts';
import { presentRecord, type RecordAccess } from '../records/record.ts';
import { findRecord } from '../records/store/records.ts';
import { findGoverningRules, hasRulesInside } from '../rules/field-rules.ts';
import { columns, type DataRecord, type Path } from '../rules/rule.ts';
import { findValue } from '../rules/values.ts';
import { addIgnored, newValidation, type Validation, validateValue } from '../schemas/values.ts';
import type { Situation, ViewedRecord } from './judgement.ts';
import type { RowOperation } from './located-rules.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface Question {
  readonly operation: RowOperation;
  readonly record_id?: string | undefined;
  readonly record?: JsonObject | undefined;
  readonly patch?: JsonObject | undefined;
}

/** The parts of a request that can be changed: the record it is about, and the fields it sends. */
interface Documents {
  readonly record: JsonObject;
  readonly patch: JsonObject | undefined;
}

export interface Scene {
  readonly situation: Situation;
  readonly documents: Documents;
  /** Names in the question that the schema does not declare. */
  readonly ignored: readonly string[];
  /** Rebuilds the situation from the given documents. Returns undefined if the documents are invalid. */
  rebuild(documents: Documents): Situation | undefined;
}

/** Throws ValidationError, or a 404 error if the caller may not read the record. */
export async function buildScene(
  db: Db,
  access: RecordAccess,
  principal: Principal,
  question: Question,
  now: Date,
): Promise<Scene> {
  const asked = { access, principal, question, now };
  if (question.operation === 'create') return buildCreateScene(asked);
  const { record_id, record } = question;
  if (record_id !== undefined) return buildRecordScene(asked, await viewStoredRecord(db, access, record_id), []);
  const proposed = collectFaults((validation) => viewProposedRecord(access, record ?? {}, now, validation));
  return buildRecordScene(asked, proposed.result, proposed.ignored);
}

export function buildRecordScene(asked: Asked, viewed: ViewedRecord, ignored: readonly string[]): Scene {
  const { access, question } = asked;
  const first = collectFaults((validation) => buildSituation(asked, viewed, question.patch, validation));
  const tryToBuild = createTrial();
  return {
    situation: first.result,
    ignored: [...ignored, ...first.ignored],
    documents: { record: viewed.shown, patch: question.patch },
    rebuild: (documents) =>
      tryToBuild((validation) => {
        const changed = changeRecord(access, viewed, documents.record, validation);
        return buildSituation(asked, changed, documents.patch, validation);
      }),
  };
}

interface Asked {
  readonly access: RecordAccess;
  readonly principal: Principal;
  readonly question: Question;
  readonly now: Date;
}

/** Builds situations to try out. All attempts share a single request's pattern budget. */
function createTrial(): (build: (validation: Validation) => Situation) => Situation | undefined {
  let { steps } = newValidation();
  return (build) => {
    if (steps < 0) return undefined;
    const validation = { ...newValidation(), steps };
    const situation = build(validation);
    steps = validation.steps;
    return validation.faults.length === 0 ? situation : undefined;
  };
}

// ---- create

function buildCreateScene(asked: Asked): Scene {
  const record = asked.question.record ?? {};
  const { result: situation, ignored } = collectFaults((validation) => buildCreateSituation(asked, record, validation));
  const tryToBuild = createTrial();
  return {
    situation,
    ignored,
    documents: { record, patch: undefined },
    rebuild: (documents) => tryToBuild((validation) => buildCreateSituation(asked, documents.record, validation)),
  };
}

function buildCreateSituation({ access, principal, now }: Asked, input: JsonObject, validation: Validation): Situation {
  const data = buildNewData(access, input, ['body', 'record'], validation);
  const record = viewWhole(buildNewRecord({ ...access, principal }, data, now));
  const { schema } = access.entity;
  return { schema, operation: 'create', principal, record, updated: undefined, sent: listDeclared(access, input) };
}

const listDeclared = ({ entity }: RecordAccess, input: JsonObject): string[] =>
  Object.keys(input).filter((name) => entity.schema.fields.has(name));

// ---- read, update, delete

function buildSituation(
  { access, principal, question, now }: Asked,
  record: ViewedRecord,
  patch: JsonObject | undefined,
  validation: Validation,
): Situation {
  const { operation } = question;
  const about = { schema: access.entity.schema, operation, principal, record };
  if (operation !== 'update') return { ...about, updated: undefined, sent: undefined };
  const sent = patch && listDeclared(access, patch);
  return { ...about, sent, updated: viewUpdatedRecord(access, record, patch ?? {}, now, validation) };
}

/**
 * The fields in the patch are visible, because the caller sends them. The other fields stay as visible as they were.
 */
function viewUpdatedRecord(
  access: RecordAccess,
  { record, shown, isVisible }: ViewedRecord,
  patch: JsonObject,
  now: Date,
  validation: Validation,
): ViewedRecord {
  // Only the visible data's size is checked. Checking the whole record would reveal the hidden data's size.
  const merged = mergeData(access, { ...record, data: shown }, patch, ['body', 'patch'], validation);
  const sent = new Set(listDeclared(access, patch));
  const kept = Object.entries(record.data).filter(([name]) => !sent.has(name));
  const changed = [...sent].filter((name) => Object.hasOwn(merged, name)).map((name) => [name, merged[name]] as const);
  return {
    record: { ...record, data: Object.fromEntries([...kept, ...changed]), updated_date: now.toISOString() },
    shown: merged,
    isVisible: (field) => (field.column === undefined && sent.has(field.names[0] ?? '')) || isVisible(field),
  };
}

const viewWhole = (record: DataRecord): ViewedRecord => ({ record, shown: record.data, isVisible: () => true });

/** Throws a 404 error if the caller may not read the record, as if it did not exist. */
async function viewStoredRecord(db: Db, access: RecordAccess, recordId: string): Promise<ViewedRecord> {
  const record = await findRecord(db, access, recordId);
  if (record === undefined || !(await mayKnowOf(db, access, record, 'read'))) throw recordNotFound();
  return viewReadableRecord(access, record);
}

/** A record that the caller may read, limited to the data that `getRecord` shows them. */
export function viewReadableRecord(access: RecordAccess, record: DataRecord): ViewedRecord {
  const { fields, fieldRules } = access.entity.schema;
  const presented = Object.entries(presentRecord(access, record));
  const shown = Object.fromEntries(presented.filter(([name]) => fields.has(name)));
  const isVisible = (names: readonly string[]): boolean => {
    const rules = findGoverningRules(fieldRules, names, 'read');
    const decisions = rules.map((rule) => access.checks.decide(rule, 'read'));
    if (decisions.every((decision) => decision === true)) return true;
    // A rule that tests the record may depend on hidden fields. In that case, the field counts as visible only if its
    // value is shown. If the value is missing, the caller can't tell whether it is hidden.
    const isShown = findValue(shown, names) !== undefined && !hasRulesInside(fieldRules, names, 'read');
    return isShown && rules.every((rule) => access.checks.allows(rule, 'read', record));
  };
  return {
    record,
    shown,
    isVisible: (field: Path) =>
      field.column === undefined
        ? isVisible(field.names)
        : field.column !== 'created_by' || !access.app.hide_authorship,
  };
}

const ProposedColumns = z.object({
  id: id.optional(),
  created_by: text(0, 254).optional(),
  created_by_id: text(0, 254).optional(),
  created_date: queryTime.optional(),
  updated_date: queryTime.optional(),
  is_sample: z.boolean().optional(),
});

const isColumn = (name: string): boolean => columns.some((column) => column === name);

/**
 * Builds a record that could be stored. Missing automatic fields get the same values as in an anonymously created
 * record.
 */
function viewProposedRecord(
  { entity }: RecordAccess,
  input: JsonObject,
  now: Date,
  validation: Validation,
): ViewedRecord {
  const present = Object.entries(input).filter(([, value]) => value !== null);
  const sent = parse(
    ProposedColumns,
    ['body', 'record'],
    Object.fromEntries(present.filter(([name]) => isColumn(name))),
  );
  const data: [string, unknown][] = [];
  for (const [name, value] of present) {
    const field = entity.schema.fields.get(name);
    if (field !== undefined) data.push([name, validateValue(field, value, ['body', 'record', name], validation)]);
    else if (!isColumn(name)) addIgnored(validation, ['body', 'record'], name);
  }
  return viewWhole({
    id: sent.id ?? newId(),
    created_by: sent.created_by ?? 'anonymous',
    created_by_id: sent.created_by_id ?? 'anonymous',
    created_date: (sent.created_date ?? now).toISOString(),
    updated_date: (sent.updated_date ?? now).toISOString(),
    is_sample: sent.is_sample ?? false,
    data: Object.fromEntries(data),
  });
}

/** Applies the changed fields of `shown` to the record. */
function changeRecord(
  { entity }: RecordAccess,
  before: ViewedRecord,
  shown: JsonObject,
  validation: Validation,
): ViewedRecord {
  if (shown === before.shown) return before;
  const data = new Map(Object.entries(before.record.data));
  for (const [name, field] of entity.schema.fields) {
    const value = Object.hasOwn(shown, name) ? shown[name] : undefined;
    if (value === (Object.hasOwn(before.shown, name) ? before.shown[name] : undefined)) continue;
    if (value !== undefined && value !== null) data.set(name, validateValue(field, value, [name], validation));
    else if (!entity.schema.required.has(name)) data.delete(name);
    else validation.faults.push({ loc: [name], msg: 'is required', type: 'missing' });
  }
  return { ...before, shown, record: { ...before.record, data: Object.fromEntries(data) } };
}
