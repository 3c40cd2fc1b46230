// Checks a caller's definition and trigger before anything is stored.
import { findAccessOnBehalf } from '../../core/auth/on-behalf.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppRole } from '../../core/auth/roles.ts';
import { type Fault as BodyFault, ValidationError } from '../../kit/http/faults.ts';
import { idOrNull } from '../../kit/ids.ts';
import { type Jq, JqBusy } from '../../kit/jq/index.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Definition, Fault } from './definition/model.ts';
import { parseDefinition, parseStored } from './definition/parse.ts';
import { listExpressions } from './definition/templates.ts';
import { parseTrigger, type Trigger } from './definition/trigger.ts';
import { jqBusy } from './jq-busy.ts';
import type { WorkflowAccess } from './store/rows.ts';
import { getVersion } from './store/versions.ts';

type Source = Readonly<Record<string, unknown>>;

export interface DraftSource {
  readonly definition?: Source;
  readonly trigger?: Source;
}

/** A checked draft. Parts that were not sent are absent. */
export interface Draft {
  readonly definition?: Definition;
  readonly trigger?: Trigger;
}

/** Throws a ValidationError with the faults in both parts. Compiles every expression but evaluates none. */
export async function checkDraft(source: DraftSource, { workspace_id }: AppAccess, jq: Jq): Promise<Draft> {
  const { faults, ...draft } = await readDraft(source, workspace_id, jq);
  if (faults.length > 0)
    throw new ValidationError(
      faults.map(({ of, path, message, code }) => toBodyFault(source, of, path, message, code)),
    );
  return draft;
}

type DraftFault = Fault & { readonly of: 'definition' | 'trigger' };

type ReadDraft = Draft & { readonly faults: readonly DraftFault[] };

/** The workspace `owner` waits for its turn at jq to compile the expressions. */
async function readDraft(source: DraftSource, owner: string, jq: Jq): Promise<ReadDraft> {
  try {
    const definition = source.definition && (await parseDefinition(source.definition, jq, owner));
    const trigger = source.trigger && (await parseTrigger(source.trigger, jq, owner));
    return {
      ...(definition && 'ok' in definition && { definition: definition.ok }),
      ...(trigger && 'ok' in trigger && { trigger: trigger.ok }),
      faults: [...listFaults(definition, 'definition'), ...listFaults(trigger, 'trigger')],
    };
  } catch (error) {
    throw error instanceof JqBusy ? jqBusy() : error;
  }
}

const listFaults = (parsed: object | undefined, of: DraftFault['of']): DraftFault[] =>
  parsed && 'faults' in parsed ? (parsed.faults as readonly Fault[]).map((fault) => ({ ...fault, of })) : [];

/** Returns the faults that `checkDraft` would throw. Their paths begin with `/definition` or `/trigger`. */
export async function validateDraft(source: DraftSource, { workspace_id }: AppAccess, jq: Jq) {
  const { definition, faults } = await readDraft(source, workspace_id, jq);
  const tasks = definition === undefined ? [] : [...definition.tasksByPath.values()];
  const calls = tasks.flatMap((task) => (task.type === 'call' ? [task.call] : []));
  return {
    valid: faults.length === 0,
    errors: faults.slice(0, 100).map(({ of, path, message }) => ({ path: `/${of}${path}`, message })),
    task_types: [...new Set(tasks.map((task) => task.type))].sort(),
    calls: [...new Set<string>(calls)].sort(),
  };
}

/**
 * Returns undefined if the stored definition is not valid. It may have been imported or stored by an earlier version of
 * Plinth.
 */
export function readStored(definition: unknown): Definition | undefined {
  try {
    return parseStored(definition);
  } catch {
    return undefined;
  }
}

/** Rechecks the stored definition and trigger before they are used. Returns undefined if either is invalid. */
export async function checkStored(db: Db, { workflow }: WorkflowAccess, jq: Jq): Promise<Draft | undefined> {
  const { definition } = await getVersion(db, workflow, workflow.current_version_id);
  const { faults, ...draft } = await readDraft({ definition, trigger: workflow.trigger }, workflow.workspace_id, jq);
  return faults.length === 0 ? draft : undefined;
}

/** Returns undefined if the workflow is not being turned on, or if its stored definition or trigger is invalid. */
export async function checkForTurningOn(
  db: Db,
  access: WorkflowAccess,
  wanted: 'active' | 'inactive' | undefined,
  jq: Jq,
): Promise<Draft | undefined> {
  const { status } = access.workflow;
  const isTurnedOn = status !== 'archived' && (wanted ?? (status === 'active' ? 'inactive' : 'active')) === 'active';
  return isTurnedOn && status !== 'active' ? checkStored(db, access, jq) : undefined;
}

/**
 * To receive an agent's messages, which don't belong to the app, the caller must be an editor of that agent, as for the
 * agent's webhooks. Workflows send messages to agents as the app, whose owner may have private agents, so the caller
 * must be able to see each agent that the definition names. A workflow that computes an agent's id can use only agents
 * that are visible to the workspace (runs/tasks/agent.ts).
 */
export async function checkAgents(db: Db, { caller }: AppAccess, draft: Draft | undefined): Promise<void> {
  const config = draft?.trigger?.config;
  if (config?.trigger_type === 'agent_message') await requireAgent(db, caller, config.agent_id, 'editor');
  for (const id of listNamedAgents(draft?.definition)) await requireAgent(db, caller, id, 'viewer');
}

async function requireAgent(db: Db, caller: AppAccess['caller'], id: string, role: AppRole): Promise<void> {
  const agentId = idOrNull(id);
  const access = agentId === null ? undefined : await findAccessOnBehalf(db, caller, agentId, role);
  if (access?.app.app_type !== 'user_agent') throw notFound('agent_not_found');
}

/** Returns the agents that the definition names literally rather than through expressions. */
function listNamedAgents(definition: Definition | undefined): Set<string> {
  const tasks = definition === undefined ? [] : [...definition.tasksByPath.values()];
  const templates = tasks.flatMap((task) => (task.type === 'call' && task.call === 'agent.send' ? [task.agentId] : []));
  return new Set(templates.filter((template) => listExpressions(template).length === 0).map(String));
}

function toBodyFault(source: DraftSource, of: DraftFault['of'], pointer: string, msg: string, type: string): BodyFault {
  const loc: (string | number)[] = ['body', of];
  let value: unknown = source[of];
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    loc.push(Array.isArray(value) ? Number(key) : key);
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }
  return { loc, msg, type };
}
