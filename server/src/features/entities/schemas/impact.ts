// Owns measuring the impact of a new schema: how many existing records violate it, and what its rules open to callers who
// had no access before, by looking at existing records and by reasoning on the rules.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { countHold, usedMs } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { newStepBudget, type StepBudget, StepBudgetExceeded } from '../rules/budget.ts';
import { evaluate } from '../rules/evaluate.ts';
import { anonymousCaller, anyUser } from '../rules/opening-callers.ts';
import { mayOpenFields } from '../rules/opening-fields.ts';
import {
  type CallerKind,
  callerKinds,
  findOpening,
  type Opening,
  type OpeningOperation,
  openingOperations,
} from '../rules/openings.ts';
import type { DataRecord } from '../rules/rule.ts';
import { listRemovedFields } from './declared-fields.ts';
import type { EntitySchema } from './field.ts';
import { describeFields } from './field-shapes.ts';
import { iterateNewestRecords } from './store.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

const sampleSize = 1_000;

/** A stored record (`record_id`), or one that could be stored (`record`). */
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
  before: EntitySchema | undefined,
  after: EntitySchema,
  records: number,
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

/** By operation. */
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
  // One budget for matching patterns and one for evaluating rules, for all records together.
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

// Not create: what is stored was created by somebody else. Not update_check: it looks at what a record may become.
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

/** The first sample principal that the new rule allows and the old rule refused. */
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

// About 30 milliseconds for each operation at most (openings.test.ts). Changes of ordinary rules take less than 4,000 steps.
const reasoningSteps = 40_000;
// A tenth of what validating a request may take.
const reasoningPatternSteps = 250_000;

const noReasoning = { found: new Map<OpeningOperation, NewlyOpen>(), isDecided: true };

/** Adds what can be concluded from the rules for the operations of which no stored record is an example. */
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
    const result = findOpening(operation, before.rules, { ...after, shape }, callers, now, budget);
    if (result === 'undecided') isDecided = false;
    else if (result !== 'none') found.set(operation, { operation, example: { record_id: null, ...result.opening } });
  }
  countHold(usedMs() - usedBefore);
  return { found, isDecided };
}
