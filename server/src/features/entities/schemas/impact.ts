// Owns measuring the impact of a new schema on existing records: how many violate it, and which of them it opens to
// principals who had no access before.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { countHold, usedMs } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { newStepBudget, type StepBudget, StepBudgetExceeded } from '../rules/budget.ts';
import { evaluate } from '../rules/evaluate.ts';
import { rowOperations } from '../rules/grammar.ts';
import type { DataRecord } from '../rules/rule.ts';
import { listRemovedFields } from './declared-fields.ts';
import type { EntitySchema } from './field.ts';
import { iterateNewestRecords } from './store.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

const sampleSize = 1_000;

export interface Impact {
  readonly records: number;
  readonly violating_records: number;
  readonly fields_removed: string[];
  readonly newly_open: { operation: string; example: { id: string; principal: string } }[];
}

/** An anonymous caller, and an app user without attributes. */
const samplePrincipals: readonly [kind: string, principal: Principal][] = [
  ['anonymous', { kind: 'anonymous', isManager: false }],
  ['any_user', { kind: 'signed_in', isManager: false, id: '', email: '', full_name: '', role: 'user', data: {} }],
];

/** `isComplete` is false if only some of the records were checked. */
export async function measureImpact(
  db: Db,
  access: AppAccess,
  before: EntitySchema | undefined,
  after: EntitySchema,
  records: number,
): Promise<{ impact: Impact; isComplete: boolean }> {
  const fields_removed = before === undefined ? [] : listRemovedFields(before.fields, after.fields);
  const newlyOpen: NewlyOpen = new Map();
  // One budget for matching patterns and one for evaluating rules, for all records together.
  const validation = newValidation();
  const budget = newStepBudget();
  let violating_records = 0;
  let heldMs = 0;
  for await (const record of iterateNewestRecords(db, access, after.name, sampleSize)) {
    const usedBefore = usedMs();
    const isViolating = validateRecord(after, record, validation) === 'violating';
    if (isViolating && validation.steps >= 0) violating_records += 1;
    if (before !== undefined && validation.steps >= 0) addNewlyOpen(newlyOpen, before, after, record, budget);
    heldMs += usedMs() - usedBefore;
    if (validation.steps < 0 || budget.steps < 0) break;
  }
  countHold(heldMs);
  const newly_open = rowOperations.flatMap((operation) => newlyOpen.get(operation) ?? []);
  const isComplete = records <= sampleSize && validation.steps >= 0 && budget.steps >= 0;
  return { impact: { records, violating_records, fields_removed, newly_open }, isComplete };
}

/** Spends the pattern budget of the validation, and replaces its faults. */
function validateRecord(
  { fields, required }: EntitySchema,
  { data }: DataRecord,
  validation: Validation,
): 'valid' | 'violating' {
  validation.faults.length = 0;
  for (const [name, field] of fields) {
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    if (value === undefined || value === null) {
      if (required.has(name)) return 'violating';
    } else validateValue(field, value, [], validation);
    if (validation.faults.length > 0) return 'violating';
  }
  return 'valid';
}

/** By operation. */
type NewlyOpen = Map<string, Impact['newly_open'][number]>;

/** Adds nothing more once the budget is exceeded. */
function addNewlyOpen(
  newlyOpen: NewlyOpen,
  before: EntitySchema,
  after: EntitySchema,
  record: DataRecord,
  budget: StepBudget,
): void {
  try {
    for (const operation of rowOperations) {
      const kind = newlyOpen.has(operation) ? undefined : findNewlyAllowed(before, after, operation, record, budget);
      if (kind !== undefined) newlyOpen.set(operation, { operation, example: { id: record.id, principal: kind } });
    }
  } catch (error) {
    if (!(error instanceof StepBudgetExceeded)) throw error;
  }
}

/** The first sample principal that the new rule allows and the old rule refused. */
function findNewlyAllowed(
  before: EntitySchema,
  after: EntitySchema,
  operation: (typeof rowOperations)[number],
  record: DataRecord,
  budget: StepBudget,
): string | undefined {
  const allows = ({ rules }: EntitySchema, principal: Principal) =>
    evaluate(rules[operation], principal, record, budget) === true;
  return samplePrincipals.find(([, principal]) => !allows(before, principal) && allows(after, principal))?.[0];
}
