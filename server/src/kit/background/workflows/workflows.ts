// Owns durable workflows: work with more than one step, a wait, a signal or a cancel. A thin face over DBOS, whose state
// lives in PostgreSQL beside the data, so that starting one belongs to the transaction that caused it.

import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { CompiledQuery, sql } from 'kysely';
import type pg from 'pg';
import { type AnyDb, afterCommit } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import {
  clearPendingCancels,
  countCrash,
  crashMessage,
  isDeadLettered,
  listPendingCancels,
  listRunStates,
  removeRunStates,
  requestCancel,
} from './run-state.ts';

/** What the body of a workflow may do. Everything else it does must come out the same when it is run again. */
export interface WorkflowContext {
  readonly id: string;
  /** Writes to the database, exactly once: what it wrote and that it ran commit together. */
  transaction<T>(name: string, work: (db: AnyDb) => Promise<T>): Promise<T>;
  /** Touches the outside, at least once: what it does must bear being done again. */
  step<T>(name: string, work: () => Promise<T>, retry?: { attempts: number; firstMs: number }): Promise<T>;
  /** Up to a minute; longer waits are a new start with `delaySeconds`, which holds no memory. */
  sleep(ms: number): Promise<void>;
  /** The next signal on a topic, or null when the time is up. */
  receive<T>(topic: string, timeoutSeconds: number): Promise<T | null>;
  /** True where a changed body takes its new path; a run that passed here under older code stays on the old one. */
  changed(name: string): Promise<boolean>;
}

export interface Workflow<Input = never> {
  readonly name: string;
  /** How many run at once in a process; and of one tenant, over all processes. */
  readonly perProcess: number;
  readonly perTenant?: number;
  /** How often a worker looks for new ones. Lower is sooner, and costs that much more while there are none. */
  readonly pollMs?: number;
  /** A run that takes longer is cancelled. */
  readonly timeoutMs: number;
  /** Started by the clock, once for each time, by whichever worker: a crontab line in UTC, of five fields, or six with seconds. Has no time limit. */
  readonly schedule?: string;
  run(flow: WorkflowContext, input: Input): Promise<unknown>;
}

/** What a scheduled workflow is given. */
export interface ScheduledInput {
  readonly scheduled_at: string;
}

// Fixed: a deploy must not tie runs under way to the code that started them. What changes says so by `changed`.
export const version = 'plinth';
export const schema = 'dbos';
export const silentLogger = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {} };

export type WorkflowState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

export interface Workflows {
  /** Starts one when `db`'s transaction commits. The same `id` twice starts once. */
  start<Input>(
    db: AnyDb,
    workflow: Pick<Workflow<Input>, 'name' | 'perTenant' | 'timeoutMs'>,
    input: Input,
    options?: { id?: string; tenant?: string; delaySeconds?: number },
  ): Promise<string>;
  /** Heard by `receive`, when `db`'s transaction commits; the same `key` twice is heard once. False: there is no such run. */
  signal(db: AnyDb, id: string, topic: string, message: unknown, key?: string): Promise<boolean>;
  /** Once `db`'s transaction commits. Takes effect before its next step; what waits does not wait longer. */
  cancel(db: AnyDb, id: string): Promise<void>;
  /** Tells the engine of what was cancelled and it was not told yet. */
  applyPendingCancels(db: AnyDb): Promise<number>;
  find(db: AnyDb, id: string): Promise<{ state: WorkflowState; error: string | null } | undefined>;
  /** Gives back what an executor had begun, so that it goes on elsewhere. */
  recover(db: AnyDb, executor: string, which?: RecoverOptions): Promise<number>;
  /** Removes runs that ended before this; gives how many. */
  removeFinished(db: AnyDb, endedBefore: Date): Promise<number>;
  close(): Promise<void>;
}

interface RecoverOptions {
  /** Its process died: the death's name, so that it is counted once against each run. */
  readonly crashId?: string;
  /** Only those that are nowhere to be seen. */
  readonly isStray?: (id: string) => boolean;
}

/** Opens the side that starts and asks; it runs nothing. */
export function openWorkflows(pool: pg.Pool, url: string): Workflows {
  let opened: Promise<DBOSClient> | undefined;
  const open = () =>
    (opened ??= DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePool: pool,
      systemDatabaseSchemaName: schema,
      applicationName: version,
      logger: silentLogger,
    }));
  return {
    async start(db, workflow, input, { id = newId(), tenant, delaySeconds } = {}) {
      const client = await open();
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
      // Asked first: to tell nobody is an error of the database, and would end the caller's transaction.
      const { rows } = await sql`select 1 from dbos.workflow_status where workflow_uuid = ${id}`.execute(db);
      if (rows.length === 0) return false;
      await (await open()).sendInTransaction(asClient(db), id, message, topic, key);
      return true;
    },
    async cancel(db, id) {
      if (!(await requestCancel(db, id))) return;
      // At once if that works; a sweep does it otherwise.
      const tell = () => open().then((client) => client.cancelWorkflow(id));
      afterCommit(db, () => void tell().catch(() => {}));
    },
    async applyPendingCancels(db) {
      const ids = await listPendingCancels(db);
      if (ids.length === 0) return 0;
      await (await open()).cancelWorkflows(ids);
      await clearPendingCancels(db, ids);
      return ids.length;
    },
    async find(db, id) {
      const found = await (await open()).getWorkflow(id);
      if (found === undefined) return undefined;
      const [marked] = await listRunStates(db, [id]);
      if (marked && isDeadLettered(marked)) return { state: 'failed', error: crashMessage(marked) };
      const error = found.error instanceof Error ? found.error.message : null;
      return { state: states[found.status] ?? 'failed', error };
    },
    async recover(db, executor, { crashId, isStray } = {}) {
      const client = await open();
      const begun = await client.listWorkflows({ executorId: executor, status: 'PENDING', loadInput: false });
      const left = isStray ? begun.filter((run) => isStray(run.workflowID) && isOldEnoughToRecover(run)) : begun;
      if (left.length === 0) return 0;
      const ids = left.map((run) => run.workflowID);
      if (crashId !== undefined) await countCrash(db, ids, crashId);
      const poison = new Set((await listRunStates(db, ids)).filter(isDeadLettered).map((marked) => marked.workflow_id));
      if (poison.size > 0) await client.cancelWorkflows([...poison]);
      const rest = left.filter((run) => !poison.has(run.workflowID));
      for (const [queueName, runs] of Map.groupBy(rest, (run) => run.queueName)) {
        await client.resumeWorkflows(
          runs.map((run) => run.workflowID),
          queueName === undefined ? {} : { queueName },
        );
      }
      // Resumed may be what somebody cancelled meanwhile; it stays cancelled.
      const cancelled = (await listRunStates(db, ids)).filter((marked) => marked.cancelled_at !== null);
      if (cancelled.length > 0) await client.cancelWorkflows(cancelled.map((marked) => marked.workflow_id));
      return left.length;
    },
    async removeFinished(db, endedBefore) {
      const client = await open();
      const ended = await client.listWorkflows({
        completedBefore: endedBefore.toISOString(),
        limit: 500,
        loadInput: false,
        loadOutput: false,
      });
      if (ended.length === 0) return 0;
      const ids = ended.map((run) => run.workflowID);
      // First: a run of the same name later must find no steps of this one.
      await sql`delete from dbos.transaction_completion where workflow_id = any(${ids}::text[])`.execute(db);
      await client.deleteWorkflows(ids);
      await removeRunStates(db, ids);
      return ids.length;
    },
    close: async () => (await opened)?.destroy(),
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

/** Long enough under way that whoever claimed it has begun to run it. */
const isOldEnoughToRecover = (run: { dequeuedAt?: number; updatedAt?: number }): boolean =>
  Date.now() - (run.dequeuedAt ?? run.updatedAt ?? Date.now()) > strayMs;

/** The engine writes through the caller's transaction; of a client it only uses `query`. */
function asClient(db: AnyDb): pg.ClientBase {
  const query = async (text: string, values: unknown[] = []) => {
    const { rows, numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, values));
    return { rows, rowCount: Number(numAffectedRows ?? rows.length) };
  };
  return { query } as unknown as pg.ClientBase;
}
