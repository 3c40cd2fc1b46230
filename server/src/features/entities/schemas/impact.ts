// Measures the impact of a new schema: the number of existing records that violate it, and the access that its
// rules open to callers who had none before. Openings are found by checking existing records and by reasoning about the
// rules.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { countHold, usedMs } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { newStepBudget, type StepBudget, StepBudgetExceeded } from '../rules/budget.ts';
import { evaluate } from '../rules/decision/evaluate.ts';
import { anonymousCaller, anyUser } from '../rules/openings/callers.ts';
import { mayOpenFields } from '../rules/openings/fields.ts';
import {
  type CallerKind,
  callerKinds,
  findOpening,
  type Opening,
  type OpeningOperation,
  openingOperations,
} from '../rules/openings/openings.ts';
import type { DataRecord } from '../rules/rule.ts';
import { listRemovedFields } from './declared-fields.ts';
import type { EntitySchema } from './field.ts';
import { describeFields } from './field-shapes.ts';
import { iterateNewestRecords } from './store.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

const sampleSize = 1_000;

/** An operation that becomes open, with a stored record (`record_id`) or a possible record (`record`) as an example. */
interface NewlyOpen {
  readonly operation: OpeningOperation;
  readonly example: Omit<Opening, 'record'> & {
    readonly record_id: string | null;
    readonly record: Opening['record'] | null;
  };
}

export interface Impact {
  readonly records: number;
  readonly violating_records: number;
  readonly fields_removed: string[];
  readonly newly_open: NewlyOpen[];
}

/** `partial` names the members that cover only some of the records or rules. */
export async function measureImpact(
  db: Db,
  access: AppAccess,
  {
    before,
    after,
    records,
  }: { readonly before: EntitySchema | undefined; readonly after: EntitySchema; readonly records: number },
  now: Date,
): Promise<{ impact: Impact; partial: string[] }> {
  const fields_removed = before === undefined ? [] : listRemovedFields(before.fields, after.fields);
  const callers = callerKinds.filter((kind) => kind !== 'anonymous' || letsAnonymousIn(access));
  const { violating_records, found, isComplete } = await sampleRecords(db, access, before, after, callers);
  const reasoned = before === undefined ? noReasoning : reasonOn(before, after, found, callers, now);
  const newly_open = openingOperations.flatMap((operation) => reasoned.found.get(operation) ?? []);
  const isSampled = isComplete && records <= sampleSize;
  const partial = isSampled ? [] : ['impact.violating_records'];
  if (!isSampled || !reasoned.isDecided) partial.push('impact.newly_open');
  return { impact: { records, violating_records, fields_removed, newly_open }, partial };
}

const letsAnonymousIn = ({ app }: AppAccess): boolean => app.public_settings === 'public_without_login';

/** The openings found so far, keyed by operation. */
type Found = ReadonlyMap<OpeningOperation, NewlyOpen>;

async function sampleRecords(
  db: Db,
  access: AppAccess,
  before: EntitySchema | undefined,
  after: EntitySchema,
  callers: readonly CallerKind[],
) {
  const principals = samplePrincipals.filter(([kind]) => callers.includes(kind));
  const found = new Map<OpeningOperation, NewlyOpen>();
  // All records share one budget for matching patterns and one for evaluating rules.
  const validation = newValidation();
  const budget = newStepBudget();
  let violating_records = 0;
  let heldMs = 0;
  for await (const record of iterateNewestRecords(db, access, after.name, sampleSize)) {
    const usedBefore = usedMs();
    const isViolating = validateRecord(after, record, validation) === 'violating';
    if (isViolating && validation.steps >= 0) violating_records += 1;
    if (before !== undefined && validation.steps >= 0)
      addNewlyOpen(found, { before, after, principals, budget }, record);
    heldMs += usedMs() - usedBefore;
    if (validation.steps < 0 || budget.steps < 0) break;
  }
  countHold(heldMs);
  return { violating_records, found, isComplete: validation.steps >= 0 && budget.steps >= 0 };
}

/** Draws on the validation's pattern budget and replaces its faults. */
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

// Excludes create, because the stored records were created by other users, and update_check, because it tests the
// record that an update would produce.
const sampledOperations = ['read', 'update', 'delete'] as const;
type SampledOperation = (typeof sampledOperations)[number];

type SamplePrincipal = readonly [kind: 'anonymous' | 'any_user', principal: Principal];

const samplePrincipals: readonly SamplePrincipal[] = [
  ['anonymous', anonymousCaller],
  ['any_user', anyUser],
];

interface Sampling {
  readonly before: EntitySchema;
  readonly after: EntitySchema;
  readonly principals: readonly SamplePrincipal[];
  readonly budget: StepBudget;
}

/** Adds nothing more once the budget is exceeded. */
function addNewlyOpen(found: Map<OpeningOperation, NewlyOpen>, sampling: Sampling, record: DataRecord): void {
  try {
    for (const operation of sampledOperations) {
      const principal = found.has(operation) ? undefined : findNewlyAllowed(sampling, operation, record);
      if (principal === undefined) continue;
      const change = operation === 'update' ? {} : null;
      found.set(operation, {
        operation,
        example: { record_id: record.id, record: null, change, principal, attributes: null },
      });
    }
  } catch (error) {
    if (!(error instanceof StepBudgetExceeded)) throw error;
  }
}

/** The first sample principal that the new rule allows but the old rule denied. */
function findNewlyAllowed(
  { before, after, principals, budget }: Sampling,
  operation: SampledOperation,
  record: DataRecord,
) {
  const allows = ({ rules }: EntitySchema, principal: Principal) =>
    evaluate(rules[operation], principal, record, budget) === true;
  const mayKeep = (principal: Principal) =>
    operation !== 'update' ||
    after.rules.update_check === 'missing' ||
    evaluate(after.rules.update_check, principal, record, budget) === true;
  const isOpened = (principal: Principal) =>
    !allows(before, principal) && allows(after, principal) && mayKeep(principal);
  return principals.find(([, principal]) => isOpened(principal))?.[0];
}

// At most about 30 milliseconds per operation (openings.test.ts). Typical rule changes take fewer than 4,000 steps.
const reasoningSteps = 40_000;
// A tenth of a request's pattern budget for validation.
const reasoningPatternSteps = 250_000;

const noReasoning = { found: new Map<OpeningOperation, NewlyOpen>(), isDecided: true };

/** Adds openings that follow from the rules, for operations without a stored record as an example. */
function reasonOn(
  before: EntitySchema,
  after: EntitySchema,
  sampled: Found,
  callers: readonly CallerKind[],
  now: Date,
) {
  const usedBefore = usedMs();
  const found = new Map(sampled);
  const shape = describeFields(after, { ...newValidation(), steps: reasoningPatternSteps });
  let isDecided = !mayOpenFields(before, after);
  for (const operation of openingOperations) {
    if (found.has(operation)) continue;
    const budget = { steps: reasoningSteps };
    const result = findOpening({ operation, before: before.rules, after: { ...after, shape }, callers, budget }, now);
    if (result === 'undecided') isDecided = false;
    else if (result !== 'none') found.set(operation, { operation, example: { record_id: null, ...result.opening } });
  }
  countHold(usedMs() - usedBefore);
  return { found, isDecided };
}
