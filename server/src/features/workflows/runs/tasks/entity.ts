// The tasks `call: entity.…` (docs/api/workflows.md#records), which use the app's records. Changes to records are
// made exactly once, because they are part of the transaction that records the step.
import { findAccessAsAppUser } from '../../../../core/auth/proofs-without-guard.ts';
import { withTimeLimit } from '../../../../kit/db/database.ts';
import { isStatementTimeout } from '../../../../kit/db/failures.ts';
import type { WorkKind } from '../../../../kit/db/shares.ts';
import { ValidationError } from '../../../../kit/http/faults.ts';
import { Problem, type ProblemKind } from '../../../../kit/problem.ts';
import type { Db } from '../../../../tables.ts';
import type { EntityCall, ErrorType, Json } from '../../definition/model.ts';
import type { RecordsScope } from '../deps.ts';
import { fail, type TaskFailure } from '../errors.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import type { Execution } from '../execution.ts';
import type { PreparedTask } from './prepared-task.ts';

/** Statements never take longer than this. */
const maxTimeoutMs = 30_000;
const limits = { default: 100, max: 1_000 };

type EntityCallName = EntityCall['call'];

interface EvaluatedCall {
  readonly entity: Json;
  readonly id: Json | undefined;
  readonly data: Json | undefined;
  readonly query: Json | undefined;
  readonly limit: Json | undefined;
  readonly as_user: Json | undefined;
}

export async function prepareEntity(execution: Execution, call: EntityCall, scope: Scope): Promise<PreparedTask> {
  const { entity, id, data, query, limit, asUser: as_user } = call;
  const shownInput: EvaluatedCall = await evaluate(execution, { entity, id, data, query, limit, as_user }, scope);
  const use = (db: Db, timeoutMs: number, now: Date) => {
    const work = (db: Db) => carryOut(db, execution, call.call, shownInput, now);
    return explainRefusals(timeoutMs, () =>
      timeoutMs < maxTimeoutMs ? withTimeLimit(db, Math.ceil(timeoutMs), work) : work(db),
    );
  };
  if (call.call !== 'entity.get' && call.call !== 'entity.list')
    return { kind: 'change', shownInput, change: (db, { timeoutMs, now }) => use(db, timeoutMs, now) };
  const kind = call.call === 'entity.list' ? 'slow' : 'short';
  return {
    kind: 'call',
    shownInput,
    call: ({ timeoutMs }) => {
      const startedAt = performance.now();
      return inShare(execution, kind, async () => {
        const timeLeftMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
        return { output: await use(execution.db, timeLeftMs, execution.deps.clock.now()) };
      });
    },
  };
}

/**
 * Waits for a share of the database connections, because many of the workspace's runs may need a connection at the same
 * time.
 */
export async function inShare<Result>(
  { run, deps }: Execution,
  kind: WorkKind,
  work: () => Promise<Result>,
): Promise<Result> {
  const owner = { owner: run.workspace_id, part: run.app_id };
  const release = await deps.shares.take(kind, owner, { patient: true });
  return work().finally(release);
}

async function carryOut(
  db: Db,
  execution: Execution,
  name: EntityCallName,
  call: EvaluatedCall,
  now: Date,
): Promise<unknown> {
  const { records } = execution.deps;
  const scope = await toScope(db, execution, call);
  switch (name) {
    case 'entity.create':
      return records.create(db, scope, toData(call.data), now);
    case 'entity.get':
      return records.get(db, scope, toId(call.id), now);
    case 'entity.list':
      return records.list(db, scope, { query: call.query ?? undefined, limit: toLimit(call.limit) }, now);
    case 'entity.update':
      return records.update(db, scope, toId(call.id), toData(call.data), now);
    case 'entity.delete':
      return records.remove(db, scope, toId(call.id), now);
  }
}

/**
 * Acts as the app, or as the user that the call names. Changes are one level deeper than the event that started the
 * run.
 */
async function toScope(db: Db, { access, run }: Execution, { entity, as_user }: EvaluatedCall): Promise<RecordsScope> {
  if (typeof entity !== 'string') throw fail('configuration', 'The entity name must be a string.');
  const depth = run.depth + 1;
  if (as_user === undefined || as_user === null) return { access, entity, depth };
  const asUser = typeof as_user === 'string' ? await findAccessAsAppUser(db, access, as_user) : undefined;
  if (asUser === undefined)
    throw fail('configuration', 'The app has no user with the id in `as_user`.', { status: 404 });
  return { access: asUser, entity, depth };
}

function toData(data: Json = null): Readonly<Record<string, Json>> {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw fail('validation', '`data` must be an object.');
  return data as Readonly<Record<string, Json>>;
}

function toId(id: Json = null): string {
  if (typeof id !== 'string') throw fail('validation', '`id` must be a string.');
  return id;
}

function toLimit(limit: Json = null): number {
  if (limit === null) return limits.default;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > limits.max)
    throw fail('validation', '`limit` must be an integer from 1 to 1,000.');
  return limit;
}

// ---- errors

const types: Readonly<Partial<Record<ProblemKind, ErrorType>>> = {
  forbidden: 'authorization',
  not_found: 'runtime',
  conflict: 'runtime',
  payment_required: 'runtime',
  bad_request: 'validation',
};

/**
 * If the records feature rejects a call, the task fails. Any other error is the platform's, and the step is repeated.
 */
async function explainRefusals<Result>(timeoutMs: number, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error, timeoutMs) ?? error;
  }
}

function toFailure(error: unknown, timeoutMs: number): TaskFailure | undefined {
  if (error instanceof ValidationError) return fail('validation', describeFaults(error), { status: 422 });
  if (isStatementTimeout(error))
    return fail(
      'timeout',
      timeoutMs < maxTimeoutMs
        ? "The operation exceeded the task's timeout or the maximum query time."
        : 'The query exceeded the maximum query time. Select fewer records.',
      { cause: 'timeout' },
    );
  if (!(error instanceof Problem)) return undefined;
  const type = error.code === 'entity_not_found' ? 'configuration' : types[error.kind];
  if (type === undefined)
    return error.kind === 'unavailable' ? fail('runtime', error.message, { status: 503 }) : undefined;
  const isRule = error.code.includes('rule');
  const detail = details[error.code] ?? error.message;
  return fail(type, detail, { status: error.status, code: error.code, ...(isRule && { cause: 'entity_rule' }) });
}

/** The records feature's messages refer to a request. Where that would be misleading, the task has its own message. */
const details: Readonly<Record<string, string>> = {
  entity_not_found: 'The app has no entity with this name. Check `entity` in the task.',
  record_not_found: "The record does not exist, or the user in `as_user` can't see it. Check `id` in the step's input.",
};

const maxShownFaults = 5;

const describeFaults = ({ faults }: ValidationError): string =>
  faults
    .slice(0, maxShownFaults)
    .map(({ loc, msg }) => `\`${loc.slice(1).join('.') || loc[0]}\` ${msg}.`)
    .join(' ');
