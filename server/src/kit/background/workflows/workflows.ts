// Owns durable workflows: work with several steps, a wait, a signal or a cancel. A thin layer over DBOS, whose state is in
// the same PostgreSQL database, so that starting a workflow is part of the transaction that caused it.
import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { CompiledQuery, sql } from 'kysely';
import type pg from 'pg';
import { type AnyDb, afterCommit } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { describeCrashes } from '../error-text.ts';
import {
  clearPendingCancels,
  countCrash,
  isDeadLettered,
  listPendingCancels,
  listRunStates,
  removeRunStates,
  requestCancel,
} from './run-state.ts';

/** What the body of a workflow may use. Everything else in the body must be deterministic, because it is replayed. */
export interface WorkflowContext {
  readonly id: string;
  /** A step that writes to the database, exactly once: its writes and the record of the step commit together. */
  transaction<T>(name: string, work: (db: AnyDb) => Promise<T>): Promise<T>;
  /** A step that calls outside services, at least once: it must be safe to repeat. */
  step<T>(name: string, work: () => Promise<T>, retry?: { attempts: number; firstMs: number }): Promise<T>;
  /** For up to a minute. For longer waits start a new run with `delaySeconds`, which uses no memory. */
  sleep(ms: number): Promise<void>;
  /** Returns the next signal on a topic, or null after the timeout. */
  receive<T>(topic: string, timeoutSeconds: number): Promise<T | null>;
  /** Whether to take the new path of a changed body. Runs that passed this point under older code stay on the old path. */
  changed(name: string): Promise<boolean>;
}

export interface Workflow<Input = unknown> {
  readonly name: string;
  /** How many run at once in a process. */
  readonly perProcess: number;
  /** How many of one tenant run at once in all processes together. */
  readonly perTenant?: number;
  /** How often a worker polls for new runs. Lower values start runs sooner but cost more while there are none. */
  readonly pollMs?: number;
  /** A run that takes longer is cancelled. */
  readonly timeoutMs: number;
  /** A crontab line in UTC with five fields, or six with seconds: starts one run at each time. These have no time limit. */
  readonly schedule?: string;
  run(context: WorkflowContext, input: Input): Promise<unknown>;
}

/** The input of a scheduled workflow. */
export interface ScheduledInput {
  readonly scheduled_at: string;
}

// Constant, because a deployment must not bind unfinished runs to the code that started them. See `changed`.
export const version = 'plinth';
export const schema = 'dbos';
export const silentLogger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {} };

export type WorkflowState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

export interface Workflows {
  /** Starts a run when `db`'s transaction commits. A second start with the same `id` does nothing. */
  start<Input>(
    db: AnyDb,
    workflow: Pick<Workflow<Input>, 'name' | 'perTenant' | 'timeoutMs'>,
    input: Input,
    options?: { id?: string; tenant?: string; delaySeconds?: number },
  ): Promise<string>;
  /**
   * Sends a message that `receive` returns, when `db`'s transaction commits. A repeated `key` is delivered once. Returns
   * false if there is no such run.
   */
  signal(db: AnyDb, id: string, topic: string, message: unknown, key?: string): Promise<boolean>;
  /** Cancels a run when `db`'s transaction commits. It stops before its next step; a wait ends at once. */
  cancel(db: AnyDb, id: string): Promise<void>;
  /** Passes cancels to DBOS that `cancel` recorded but could not pass on. */
  applyPendingCancels(db: AnyDb): Promise<number>;
  find(db: AnyDb, id: string): Promise<{ state: WorkflowState; error: string | null } | undefined>;
  /** Releases the unfinished runs of an executor, so that other workers resume them. Returns how many. */
  recover(db: AnyDb, executor: string, options?: RecoverOptions): Promise<number>;
  /** Removes runs that ended before this time. Returns how many. */
  removeFinished(db: AnyDb, endedBefore: Date): Promise<number>;
  close(): Promise<void>;
}

interface RecoverOptions {
  /** The worker crashed: an id of the crash, so that it is counted once per run. */
  readonly crashId?: string;
  /** Recover only runs for which this returns true. */
  readonly isStray?: (id: string) => boolean;
}

/** Opens the client that starts, signals, cancels and finds runs. It executes none. */
export function openWorkflows(pool: pg.Pool, url: string): Workflows {
  let client: Promise<DBOSClient> | undefined;
  const getClient = () =>
    (client ??= DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePool: pool,
      systemDatabaseSchemaName: schema,
      applicationName: version,
      logger: silentLogger,
    }));
  return {
    async start(db, workflow, input, { id = newId(), tenant, delaySeconds } = {}) {
      const client = await getClient();
      await client.enqueueInTransaction(
        asClient(db),
        {
          queueName: workflow.name,
          workflowName: workflow.name,
          workflowID: id,
          appVersion: version,
          workflowTimeoutMS: workflow.timeoutMs,
          ...(workflow.perTenant === undefined ? {} : { queuePartitionKey: tenant ?? '' }),
          ...(delaySeconds === undefined ? {} : { delaySeconds }),
        },
        input,
      );
      return id;
    },
    async signal(db, id, topic, message, key) {
      // Checked first: a signal to an unknown run is a database error, which would abort the caller's transaction.
      const { rows } = await sql`select 1 from dbos.workflow_status where workflow_uuid = ${id}`.execute(db);
      if (rows.length === 0) return false;
      await (await getClient()).sendInTransaction(asClient(db), id, message, topic, key);
      return true;
    },
    async cancel(db, id) {
      if (!(await requestCancel(db, id))) return;
      // If this fails, the job that calls `applyPendingCancels` does it.
      const cancelNow = () => getClient().then((client) => client.cancelWorkflow(id));
      afterCommit(db, () => void cancelNow().catch(() => {}));
    },
    async applyPendingCancels(db) {
      const ids = await listPendingCancels(db);
      if (ids.length === 0) return 0;
      await (await getClient()).cancelWorkflows(ids);
      await clearPendingCancels(db, ids);
      return ids.length;
    },
    async find(db, id) {
      const found = await (await getClient()).getWorkflow(id);
      if (found === undefined) return undefined;
      const [runState] = await listRunStates(db, [id]);
      if (runState && isDeadLettered(runState))
        return { state: 'failed', error: describeCrashes(runState.crash_count) };
      const error = found.error instanceof Error ? found.error.message : null;
      return { state: states[found.status] ?? 'failed', error };
    },
    async recover(db, executor, { crashId, isStray } = {}) {
      const client = await getClient();
      const unfinished = await client.listWorkflows({ executorId: executor, status: 'PENDING', loadInput: false });
      const runs = isStray
        ? unfinished.filter((run) => isStray(run.workflowID) && isOldEnoughToRecover(run))
        : unfinished;
      if (runs.length === 0) return 0;
      const ids = runs.map((run) => run.workflowID);
      if (crashId !== undefined) await countCrash(db, ids, crashId);
      const deadLettered = new Set((await listRunStates(db, ids)).filter(isDeadLettered).map((run) => run.workflow_id));
      if (deadLettered.size > 0) await client.cancelWorkflows([...deadLettered]);
      const resumable = runs.filter((run) => !deadLettered.has(run.workflowID));
      for (const [queueName, group] of Map.groupBy(resumable, (run) => run.queueName)) {
        await client.resumeWorkflows(
          group.map((run) => run.workflowID),
          queueName === undefined ? {} : { queueName },
        );
      }
      // A run that was cancelled in the meantime has been resumed too; it must stay cancelled.
      const cancelled = (await listRunStates(db, ids)).filter((run) => run.cancelled_at !== null);
      if (cancelled.length > 0) await client.cancelWorkflows(cancelled.map((run) => run.workflow_id));
      return runs.length;
    },
    async removeFinished(db, endedBefore) {
      const client = await getClient();
      const ended = await client.listWorkflows({
        completedBefore: endedBefore.toISOString(),
        limit: 500,
        loadInput: false,
        loadOutput: false,
      });
      if (ended.length === 0) return 0;
      const ids = ended.map((run) => run.workflowID);
      // First, because a later run with the same id must not find these steps.
      await sql`delete from dbos.transaction_completion where workflow_id = any(${ids}::text[])`.execute(db);
      await client.deleteWorkflows(ids);
      await removeRunStates(db, ids);
      return ids.length;
    },
    close: async () => (await client)?.destroy(),
  };
}

const states: Readonly<Record<string, WorkflowState>> = {
  ENQUEUED: 'waiting',
  DELAYED: 'waiting',
  PENDING: 'running',
  SUCCESS: 'done',
  CANCELLED: 'cancelled',
};

const strayMs = 30_000;

/** A worker that has just dequeued a run may not have registered it as running yet. */
const isOldEnoughToRecover = (run: { dequeuedAt?: number; updatedAt?: number }): boolean =>
  Date.now() - (run.dequeuedAt ?? run.updatedAt ?? Date.now()) > strayMs;

/** Lets DBOS write through the caller's transaction. It uses only `query` of a client. */
function asClient(db: AnyDb): pg.ClientBase {
  const query = async (text: string, values: unknown[] = []) => {
    const { rows, numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, values));
    return { rows, rowCount: Number(numAffectedRows ?? rows.length) };
  };
  return { query } as unknown as pg.ClientBase;
}
