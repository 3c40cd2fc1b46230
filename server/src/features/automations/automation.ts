// The operations on automations: create, change, turn on, turn off and delete (docs/api/automations.md).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import { findPlanRefusal } from '../../core/auth/plans.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { lockApp } from '../../core/identity/apps.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { checkTarget, type TargetRules } from '../../kit/http/check-url.ts';
import { type Fault, ValidationError } from '../../kit/http/faults.ts';
import { newId } from '../../kit/ids.ts';
import { type Jq, JqBusy } from '../../kit/jq/index.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import { findNextTick } from '../../kit/schedule/index.ts';
import type { Db } from '../../tables.ts';
import { type AutomationChange, type AutomationRow, type NewAutomation, presentAutomation } from './contract.ts';
import {
  type AppRef,
  countAutomations,
  insertAutomation,
  lockAutomation,
  removeAutomation,
  saveAutomation,
  turnOffAutomationsOf,
} from './store/automations.ts';

export type AutomationAccess = AppAccess & { readonly automation: AutomationRow };

/** Checks that an automation's workflow or entity exists. */
export interface References {
  /** Whether the app has a workflow with this id that is not archived. */
  hasWorkflow(db: Db, app: AppRef, workflow_id: string): Promise<boolean>;
  hasEntity(db: Db, access: AppAccess, name: string): Promise<boolean>;
}

export interface AutomationRules extends TargetRules, References {
  readonly jq: Pick<Jq, 'checkAll'>;
}

export const maxAutomations = 100;

/** Performs the slow checks: resolving the URL's host name and compiling the expressions. Throws a 422. */
export async function checkOutside(
  rules: AutomationRules,
  { workspace_id }: AppAccess,
  { condition, action }: Pick<AutomationChange, 'condition' | 'action'>,
): Promise<void> {
  const expressions = [
    { filter: condition, loc: ['body', 'condition'] },
    { filter: action?.body, loc: ['body', 'action', 'body'] },
  ].flatMap(({ filter, loc }) => (typeof filter === 'string' ? { filter, loc, variables: [] } : []));
  const problems = await rules.jq.checkAll(expressions, workspace_id).catch((error: unknown) => {
    throw error instanceof JqBusy ? expressionsBusy() : error;
  });
  const faults = expressions.flatMap(({ loc }, index): Fault[] => {
    const msg = problems[index];
    return msg === undefined ? [] : [{ loc, msg, type: 'expression_syntax' }];
  });
  if (faults.length > 0) throw new ValidationError(faults);
  await checkTarget(rules, action?.url, ['body', 'action', 'url']);
}

const expressionsBusy = () =>
  new Problem('unavailable', 'busy', 'Too many expressions are being checked. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
  });

export function createAutomation(db: Db, access: AppAccess, input: NewAutomation, references: References, now: Date) {
  const { app } = access;
  return transaction(db, async (db) => {
    await lockApp(db, access); // the app may have been moved to the trash while the body was checked
    await takeAdvisoryLock(db, `automations of ${app.id}`);
    if ((await countAutomations(db, access)) >= maxAutomations)
      throw limitReached(
        maxAutomations,
        'automations',
        `An app can have at most ${maxAutomations} automations. Delete one first.`,
      );
    const row = complete(
      {
        id: newId(),
        workspace_id: app.workspace_id,
        app_id: app.id,
        name: input.name,
        description: input.description ?? null,
        type: input.type,
        entity_name: input.entity_name ?? null,
        event_types: input.event_types ?? null,
        condition: input.condition ?? null,
        schedule: input.schedule ?? null,
        action: input.action,
        is_active: input.is_active ?? true,
        next_tick_at: null,
        ticks: 0,
        last_run_at: null,
        last_error: null,
        consecutive_failures: 0,
        created_by: access.caller.user_id,
        created_date: now,
        updated_date: now,
      },
      now,
    );
    await checkReferences(db, access, row, references);
    await insertAutomation(db, row);
    const target = { kind: 'automation', id: row.id };
    await audit(db, access, { type: 'automation.created', target, app_id: app.id, after: auditedFields(row) }, now);
    return presentAutomation(row);
  });
}

/**
 * Omitted fields keep their value. When the type changes, the previous type's fields are cleared. No plan is required
 * to turn an automation off, or to change it while it is off.
 */
export function changeAutomation(
  db: Db,
  access: AutomationAccess,
  input: AutomationChange,
  references: References,
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockApp(db, access); // locked before the automation, as when an app is deleted
    const before = await lockAutomation(db, access.automation);
    if (before === undefined) throw notFound('automation_not_found');
    const merged = merge(before, input);
    const refusal = merged.is_active ? findPlanRefusal(access.plan, 'workflows') : undefined;
    if (refusal !== undefined) throw refusal;
    if (isDeepStrictEqual(merged, before)) return withNotes(presentAutomation(before), { changed: false });
    const row = { ...complete(merged, now, before), updated_date: now };
    await checkReferences(db, access, row, references, before);
    await saveAutomation(db, row);
    const target = { kind: 'automation', id: row.id };
    const [was, is] = [auditedFields(before), auditedFields(row)];
    await audit(db, access, { type: 'automation.updated', target, app_id: row.app_id, before: was, after: is }, now);
    return withNotes(presentAutomation(row), {});
  });
}

const clearedByType = {
  entity: { schedule: null },
  scheduled: { entity_name: null, event_types: null },
} as const;

function merge(before: AutomationRow, { is_active, ...input }: AutomationChange): AutomationRow {
  const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const merged: AutomationRow = {
    ...before,
    ...(input.type !== undefined && input.type !== before.type && clearedByType[input.type]),
    ...sent,
    is_active: is_active ?? before.is_active,
  };
  // Turning an automation on resets its failure count, even if it is already on.
  return is_active === true ? { ...merged, consecutive_failures: 0, last_error: null } : merged;
}

/** Rejects a row whose fields do not match its type, and computes its next tick. */
function complete(row: AutomationRow, now: Date, before?: AutomationRow): AutomationRow {
  const faults = row.type === 'entity' ? listEntityFaults(row) : listScheduleFaults(row);
  if (faults.length > 0) throw new ValidationError(faults);
  if (row.schedule === null || !row.is_active) return { ...row, next_tick_at: null };
  const isSame = before !== undefined && isDeepStrictEqual(row.schedule, before.schedule);
  if (isSame && before.is_active) return row;
  const next_tick_at = findNextTick(row.schedule, 0, now);
  if (next_tick_at === null)
    throw new ValidationError([
      isSame
        ? fault('is_active', 'must be false, because the schedule has ended; send a new schedule to turn it on')
        : fault('schedule', 'must have at least one future occurrence'),
    ]);
  return { ...row, ticks: 0, next_tick_at };
}

const fault = (field: string, msg: string, type = 'value_error'): Fault => ({ loc: ['body', field], msg, type });

const listEntityFaults = ({ entity_name, event_types, schedule }: AutomationRow): Fault[] => [
  ...(entity_name === null ? [fault('entity_name', 'is required if `type` is `entity`', 'missing')] : []),
  ...(event_types === null ? [fault('event_types', 'is required if `type` is `entity`', 'missing')] : []),
  ...(schedule === null ? [] : [fault('schedule', 'is only allowed if `type` is `scheduled`')]),
];

const listScheduleFaults = ({ entity_name, event_types, schedule }: AutomationRow): Fault[] => [
  ...(schedule === null ? [fault('schedule', 'is required if `type` is `scheduled`', 'missing')] : []),
  ...(entity_name === null ? [] : [fault('entity_name', 'is only allowed if `type` is `entity`')]),
  ...(event_types === null ? [] : [fault('event_types', 'is only allowed if `type` is `entity`')]),
];

/** Checks only new references, so an automation can still be changed after its workflow has been archived. */
async function checkReferences(
  db: Db,
  access: AppAccess,
  { entity_name, action }: AutomationRow,
  { hasWorkflow, hasEntity }: References,
  before?: AutomationRow,
): Promise<void> {
  const isNewEntity = entity_name !== null && entity_name !== before?.entity_name;
  if (isNewEntity && !(await hasEntity(db, access, entity_name))) throw notFound('entity_not_found');
  const { workflow_id } = action;
  const isNewWorkflow = workflow_id !== undefined && workflow_id !== before?.action.workflow_id;
  if (isNewWorkflow && !(await hasWorkflow(db, access.app, workflow_id))) throw notFound('workflow_not_found');
}

/** A deleted automation's waiting runs do nothing. */
export const deleteAutomation = (db: Db, access: AutomationAccess, now: Date) =>
  transaction(db, async (db) => {
    const { automation } = access;
    await removeAutomation(db, automation);
    const target = { kind: 'automation', id: automation.id };
    const before = auditedFields(automation);
    await audit(db, access, { type: 'automation.deleted', target, app_id: automation.app_id, before }, now);
    return { success: true } as const;
  });

/** Called when an app is moved to the trash. If it is restored, its automations stay off until a user turns them on. */
export async function turnOffAutomations(db: Db, access: AppAccess, now: Date): Promise<void> {
  for (const { id } of await turnOffAutomationsOf(db, access.app, now)) {
    const target = { kind: 'automation', id };
    const after = { is_active: false };
    await audit(db, access, { type: 'automation.disabled', target, app_id: access.app.id, after }, now);
  }
}

/**
 * The fields recorded in the audit log. Only the names of headers are logged, because their values may be credentials.
 */
const auditedFields = ({
  name,
  description,
  type,
  entity_name,
  event_types,
  condition,
  schedule,
  action,
  is_active,
}: AutomationRow) => ({
  name,
  description,
  type,
  entity_name,
  event_types,
  condition,
  schedule,
  action: { ...action, headers: Object.keys(action.headers ?? {}) },
  is_active,
});
