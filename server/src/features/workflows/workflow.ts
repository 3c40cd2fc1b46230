// The operations on workflows: create, change, archive, restore, turn on and turn off (docs/api/workflows.md).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AuditType } from '../../core/audit/types.ts';
import { findPlanRefusal } from '../../core/auth/plans.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { isAppRoleAtLeast } from '../../core/auth/roles.ts';
import { lockApp } from '../../core/identity/apps.ts';
import type { StorageQuota } from '../../core/storage/quota.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import {
  type NewWorkflow,
  presentStatus,
  presentWorkflow,
  type StatusChange,
  type WorkflowChange,
} from './contract.ts';
import type { Definition } from './definition/model.ts';
import { readStoredTrigger, type Trigger } from './definition/trigger.ts';
import { type Draft, readStored } from './draft.ts';
import type { WorkflowAccess, WorkflowRow } from './store/rows.ts';
import { countVersions, getVersion, insertVersion, removeOldVersions } from './store/versions.ts';
import { countWorkflows, findWorkflowByName, insertWorkflow, lockWorkflow, saveWorkflow } from './store/workflows.ts';
import { createHook, type HookDeps, noHook, openHookUrl } from './triggers/hook-token.ts';
import { activate, toTriggerKey } from './triggers/trigger-columns.ts';

export interface WorkflowRules extends HookDeps {
  /** Whether the app has an entity with this name. */
  hasEntity(db: Db, access: AppAccess, name: string): Promise<boolean>;
  readonly storage: StorageQuota;
}

export const maxWorkflows = 200;
/** Archived workflows can't be deleted, so they have their own limit. */
export const maxArchived = 1_000;
const maxVersions = 100;
/** What a version counts besides its definition (core/storage/stored-tables.ts). */
const versionBytes = 350;
/** Includes versions that runs still use. */
export const maxStoredVersions = 1_000;

/** The workflow is active immediately, unless its schedule has no ticks left. */
export function createWorkflow(
  db: Db,
  deps: WorkflowRules,
  access: AppAccess,
  { input, draft }: { readonly input: NewWorkflow; readonly draft: Draft },
  now: Date,
) {
  const { app, caller } = access;
  const { definition, trigger } = requireBoth(draft);
  return transaction(db, async (db) => {
    await lockApp(db, access); // the app may have been moved to the trash while the body was checked
    await lockWorkflowsOf(db, access);
    await refuseTooMany(db, access);
    await refuseTakenName(db, access, input.name);
    await checkEntity(db, access, trigger, deps);
    const id = newId();
    const isWebhook = trigger.config.trigger_type === 'webhook';
    const workflow = await insertWorkflow(db, {
      id,
      workspace_id: app.workspace_id,
      app_id: app.id,
      name: input.name,
      description: input.description ?? null,
      ...activate(trigger, 0, now),
      ...toColumns(input.trigger, trigger),
      ...(isWebhook ? createHook(id, deps) : noHook),
      entity_names: listEntityNames(definition, trigger),
      current_version_id: definition.versionId,
      created_by: caller.user_id,
      created_date: now,
      updated_date: now,
    });
    await saveVersion(db, access, { workflow, versionId: definition.versionId, source: input }, now);
    await auditChange(db, access, { type: 'workflow.created', before: undefined, after: workflow }, now);
    return presentInFull(access, workflow, input.definition, deps);
  });
}

function requireBoth({ definition, trigger }: Draft): Required<Draft> {
  if (definition === undefined || trigger === undefined) throw new Error('the body was not checked');
  return { definition, trigger };
}

/** Rules that involve several workflows, such as unique names and the limit, are checked by one request at a time. */
const lockWorkflowsOf = (db: Db, { app }: AppAccess) => takeAdvisoryLock(db, `workflows of ${app.id}`);

async function refuseTooMany(db: Db, access: AppAccess): Promise<void> {
  const { kept, archived } = await countWorkflows(db, access);
  if (kept >= maxWorkflows)
    throw limitReached(
      maxWorkflows,
      'workflows',
      `An app can have at most ${maxWorkflows} workflows, not counting archived ones. Archive one first.`,
    );
  if (archived >= maxArchived)
    throw limitReached(
      maxArchived,
      'archived_workflows',
      `An app can have at most ${maxArchived} archived workflows. Restore and reuse one instead of creating a new workflow.`,
    );
}

async function refuseTakenName(db: Db, access: AppAccess, name: string): Promise<void> {
  if ((await findWorkflowByName(db, access, name)) === undefined) return;
  throw new Problem(
    'conflict',
    'name_taken',
    'Another workflow in this app already has this name. Choose a different name, or archive that workflow first.',
    { retrySafe: false },
  );
}

/**
 * A trigger on an entity that does not exist would never start a run. The entity can't be deleted later while a trigger
 * uses it.
 */
async function checkEntity(
  db: Db,
  access: AppAccess,
  { config }: Trigger,
  { hasEntity }: WorkflowRules,
): Promise<void> {
  if (config.trigger_type !== 'entity' || (await hasEntity(db, access, config.entity_name))) return;
  throw notFound('entity_not_found');
}

const toColumns = (source: Readonly<Record<string, unknown>>, trigger: Trigger) => ({
  trigger: JSON.stringify(source),
  trigger_type: trigger.config.trigger_type,
  trigger_key: toTriggerKey(trigger),
});

/** An argument is undefined if the stored value can't be read. */
const listEntityNames = (definition: Definition | undefined, trigger: Trigger | undefined): string[] => {
  const named = trigger?.config.trigger_type === 'entity' ? [trigger.config.entity_name] : [];
  return [...new Set([...(definition?.entityNames ?? []), ...named])];
};

type VersionSource = Pick<WorkflowChange, 'definition' | 'change_summary'>;

/** The definition is stored exactly as the caller sent it. */
async function saveVersion(
  db: Db,
  { caller }: AppAccess,
  {
    workflow,
    versionId,
    source: { definition = {}, change_summary },
  }: { readonly workflow: WorkflowRow; readonly versionId: string; readonly source: VersionSource },
  now: Date,
): Promise<void> {
  const created_by = caller.user_id;
  const version = { version_id: versionId, definition, change_summary: change_summary ?? null, created_by };
  await insertVersion(db, workflow, version, now);
  await removeOldVersions(db, workflow, maxVersions);
  if ((await countVersions(db, workflow)) > maxStoredVersions)
    throw limitReached(
      maxStoredVersions,
      'workflow_versions',
      `Unfinished runs are using ${maxStoredVersions} versions of this workflow, the maximum. Cancel some runs, or wait for them to finish.`,
    );
}

/** Omitted fields keep their value. Runs that have already started keep their definition. */
export function changeWorkflow(
  db: Db,
  deps: WorkflowRules,
  access: WorkflowAccess,
  { input, draft }: { readonly input: WorkflowChange; readonly draft: Draft },
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockApp(db, access); // locked before the workflow, as when an app is deleted
    await lockWorkflowsOf(db, access);
    const before = await getLocked(db, access);
    if (before.status === 'archived') throw workflowArchived();
    const { definition: stored } = await getVersion(db, before, before.current_version_id);
    const change = await planChange(db, deps, access, { before, input, draft, stored }, now);
    if (change === undefined) return unchanged(presentInFull(access, before, stored, deps));
    const after = await saveWorkflow(db, before, { ...change, updated_date: now });
    if (draft.definition && after.current_version_id !== before.current_version_id) {
      await deps.storage.admit(db, access, versionBytes + JSON.stringify(input.definition).length, now);
      await saveVersion(db, access, { workflow: after, versionId: draft.definition.versionId, source: input }, now);
    }
    await auditChange(db, access, { type: 'workflow.updated', before, after }, now);
    return presentInFull(access, after, change.current_version_id ? (input.definition ?? stored) : stored, deps);
  });
}

/** Returns the columns that have changed, or undefined if none have. */
async function planChange(
  db: Db,
  deps: WorkflowRules,
  access: WorkflowAccess,
  {
    before,
    input,
    draft: { definition, trigger },
    stored,
  }: {
    readonly before: WorkflowRow;
    readonly input: WorkflowChange;
    readonly draft: Draft;
    readonly stored: Readonly<Record<string, unknown>>;
  },
  now: Date,
) {
  const { name, description } = input;
  const isRenamed = name !== undefined && name !== before.name;
  if (isRenamed) await refuseTakenName(db, access, name);
  const isNewVersion = definition !== undefined && definition.versionId !== before.current_version_id;
  const isNewTrigger = input.trigger !== undefined && !isDeepStrictEqual(input.trigger, before.trigger);
  if (isNewTrigger && trigger) await checkEntity(db, access, trigger, deps);
  const change = {
    ...(isRenamed && { name }),
    ...(description !== undefined && description !== before.description && { description }),
    ...(isNewVersion && { current_version_id: definition.versionId }),
    ...(isNewTrigger && trigger && input.trigger && changeTrigger(before, input.trigger, trigger, deps, now)),
    ...((isNewVersion || isNewTrigger) && {
      entity_names: listEntityNames(definition ?? readStored(stored), trigger ?? readStoredTrigger(before.trigger)),
    }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

/**
 * A hook keeps its address as long as the trigger is a webhook. A new schedule resets the tick count, but a new
 * condition does not.
 */
function changeTrigger(
  before: WorkflowRow,
  source: Readonly<Record<string, unknown>>,
  trigger: Trigger,
  deps: HookDeps,
  now: Date,
) {
  const hook = planHook(before, trigger, deps);
  const columns = { ...toColumns(source, trigger), ...hook };
  if (isDeepStrictEqual(source.config, before.trigger.config)) return columns;
  const activation = before.status === 'active' ? activate(trigger, 0, now) : { next_tick_at: null };
  return { ...columns, ...activation, ticks: 0 };
}

function planHook(before: WorkflowRow, { config }: Trigger, deps: HookDeps) {
  if (config.trigger_type !== 'webhook') return noHook;
  return before.hook_token_hash === null ? createHook(before.id, deps) : {};
}

/** Runs already in progress continue. */
export const archiveWorkflow = (db: Db, access: WorkflowAccess, now: Date) =>
  transaction(db, async (db) => {
    const before = await getLocked(db, access);
    if (before.status === 'archived') return unchanged(presentWorkflow(before));
    const columns = { status: 'archived', status_reason: null, next_tick_at: null, updated_date: now } as const;
    const after = await saveWorkflow(db, before, columns);
    await auditChange(db, access, { type: 'workflow.archived', before, after }, now);
    return presentWorkflow(after);
  });

export const restoreWorkflow = (db: Db, access: WorkflowAccess, now: Date) =>
  transaction(db, async (db) => {
    await lockWorkflowsOf(db, access);
    const before = await getLocked(db, access);
    if (before.status !== 'archived') return unchanged(presentWorkflow(before));
    const { kept } = await countWorkflows(db, access);
    if (kept >= maxWorkflows)
      throw limitReached(
        maxWorkflows,
        'workflows',
        `An app can have at most ${maxWorkflows} workflows, not counting archived ones. Archive one first.`,
      );
    await refuseTakenName(db, access, before.name);
    const after = await saveWorkflow(db, before, { status: 'inactive', updated_date: now });
    await auditChange(db, access, { type: 'workflow.restored', before, after }, now);
    return presentWorkflow(after);
  });

/** If no status is given, switches to the opposite one. Turning a workflow on resets its failure count. */
export const toggleWorkflow = (
  db: Db,
  deps: WorkflowRules,
  access: WorkflowAccess,
  { change: { status }, current }: { readonly change: StatusChange; readonly current: Draft | undefined },
  now: Date,
) =>
  transaction(db, async (db) => {
    await lockApp(db, access);
    const before = await getLocked(db, access);
    if (before.status === 'archived') throw workflowArchived();
    const wanted = status ?? (before.status === 'active' ? 'inactive' : 'active');
    if (wanted === 'active') refuseWithoutPlan(access);
    if (wanted === before.status) return unchanged(presentStatus(before));
    if (wanted === 'active' && current?.trigger) await checkEntity(db, access, current.trigger, deps);
    const columns = wanted === 'active' ? turnOn(before, current, deps, now) : turnedOff;
    if (columns.status === before.status && columns.status_reason === before.status_reason)
      return unchanged(presentStatus(before)); // it still can't be turned on, for the same reason as before
    const after = await saveWorkflow(db, before, { ...columns, updated_date: now });
    await auditChange(db, access, { type: 'workflow.toggled', before, after }, now);
    return presentStatus(after);
  });

const turnedOff = { status: 'inactive', status_reason: null, next_tick_at: null } as const;

/**
 * `current` is the rechecked definition and trigger. It is undefined if they are not valid: they may have been
 * imported, or stored by an earlier version of Plinth.
 */
function turnOn(before: WorkflowRow, current: Draft | undefined, deps: HookDeps, now: Date) {
  if (current?.trigger === undefined) return { ...turnedOff, status_reason: 'definition_invalid' } as const;
  return {
    ...activate(current.trigger, before.ticks, now),
    ...planHook(before, current.trigger, deps),
    trigger_type: current.trigger.config.trigger_type,
    trigger_key: toTriggerKey(current.trigger),
    consecutive_failures: 0,
  };
}

function refuseWithoutPlan({ plan }: AppAccess): void {
  const refusal = findPlanRefusal(plan, 'workflows');
  if (refusal !== undefined) throw refusal;
}

/** Reads the workflow again under a lock, because it may have changed since the guard read it. */
async function getLocked(db: Db, { workflow }: WorkflowAccess): Promise<WorkflowRow> {
  const row = await lockWorkflow(db, workflow);
  if (row === undefined) throw notFound('workflow_not_found');
  return row;
}

export const workflowArchived = () =>
  new Problem('bad_request', 'workflow_archived', 'This workflow is archived. Restore it first.');

export const presentInFull = (
  access: AppAccess,
  workflow: WorkflowRow,
  definition: Readonly<Record<string, unknown>>,
  deps: HookDeps,
) => ({ ...presentWorkflow(workflow), definition, hook_url: mayStart(access) ? openHookUrl(workflow, deps) : null });

export const isEditor = ({ app_role }: AppAccess): boolean => app_role !== null && isAppRoleAtLeast(app_role, 'editor');

/** Anyone who knows a hook's address can start runs, which a read-only credential must not allow. */
const mayStart = (access: AppAccess): boolean => isEditor(access) && access.caller.permission === 'full_access';

const auditedFields = ({ name, description, status, trigger_type, current_version_id }: WorkflowRow) => ({
  name,
  description,
  status,
  trigger_type,
  version_id: current_version_id,
});

const auditChange = (
  db: Db,
  access: AppAccess,
  {
    type,
    before,
    after,
  }: { readonly type: AuditType; readonly before: WorkflowRow | undefined; readonly after: WorkflowRow },
  now: Date,
): Promise<void> => {
  const target = { kind: 'workflow', id: after.id };
  const fields = { ...(before && { before: auditedFields(before) }), after: auditedFields(after) };
  return audit(db, access, { type, target, app_id: after.app_id, ...fields }, now);
};
