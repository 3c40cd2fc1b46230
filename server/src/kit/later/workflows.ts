// Owns durable workflows: work with more than one step, a wait, a signal or a cancel. A thin face over DBOS, whose state
// lives in PostgreSQL beside the data, so that starting one belongs to the transaction that caused it.

import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS, DBOSClient, type ScheduledWorkflowFn } from '@dbos-inc/dbos-sdk';
import {
  assertStillOwnsWorkflow,
  DBOSStepAlreadyRecordedError,
  migrateDataSourcePG,
  registerDataSource,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource';
import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { type AnyDb, openDatabase, prepared, transaction } from '../db/database.ts';
import { failureOf } from '../db/failures.ts';
import { newId } from '../ids.ts';

/** What the body of a workflow may do. Everything else it does must come out the same when it is run again. */
export interface Flow {
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
  /** Started by the clock: a crontab line in UTC, its first field the seconds if there are six. Once for each time, by whichever worker. */
  readonly schedule?: string;
  run(flow: Flow, input: Input): Promise<unknown>;
}

/** What a scheduled workflow is given. */
export interface Scheduled {
  readonly scheduled_at: string;
}

// Fixed: a deploy must not tie runs under way to the code that started them. What changes says so by `changed`.
const version = 'plinth';
const schema = 'dbos';
// A run whose process ended under it so often may be what ends them: it is not run again.
const mostInterruptions = 20;
// The engine's own count also rises with every deploy, so it must never be what decides.
const endless = 1_000_000;
const dataSource = 'plinth';
const enginePoolSize = 10;

/** Makes or updates the engine's own tables. */
export async function migrateWorkflows(url: string): Promise<void> {
  await DBOS.migrate(url, { schemaName: schema });
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('begin');
    await migrateDataSourcePG(async (text) => (await client.query(text)).rows, schema);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

export type WorkflowState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

export interface Workflows {
  /** Starts one when `db`'s transaction commits. The same `id` twice starts once. */
  start<Input>(
    db: AnyDb,
    workflow: Pick<Workflow<Input>, 'name' | 'perTenant' | 'timeoutMs'>,
    input: Input,
    options?: { id?: string; tenant?: string; delaySeconds?: number },
  ): Promise<string>;
  /** Heard by `receive`, when `db`'s transaction commits. The same `key` twice is heard once. */
  signal(db: AnyDb, id: string, topic: string, message: unknown, key?: string): Promise<void>;
  /** Takes effect before its next step; what waits does not wait longer. */
  cancel(db: AnyDb, id: string): Promise<void>;
  find(db: AnyDb, id: string): Promise<{ state: WorkflowState; error: string | null } | undefined>;
  /** Gives back what an executor that is no more had begun, so that others go on with it. */
  recover(db: AnyDb, executor: string, because: 'died' | 'stopped'): Promise<void>;
  /** Removes runs that ended before this; gives how many. */
  forget(db: AnyDb, endedBefore: Date): Promise<number>;
  close(): Promise<void>;
}

const quiet = { info: () => {}, debug: () => {}, warn: () => {}, error: () => {} };

/** Opens the side that starts and asks; it runs nothing. */
export function openWorkflows(pool: pg.Pool, url: string): Workflows {
  let opened: Promise<DBOSClient> | undefined;
  const open = () =>
    (opened ??= DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePool: pool,
      systemDatabaseSchemaName: schema,
      applicationName: version,
      logger: quiet,
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
      await (await open()).sendInTransaction(asClient(db), id, message, topic, key);
    },
    async cancel(db, id) {
      await mark(db, [id], sql`cancelled_at = clock_timestamp()`);
      await (await open()).cancelWorkflow(id);
    },
    async find(db, id) {
      const found = await (await open()).getWorkflow(id);
      if (found === undefined) return undefined;
      const [marked] = await marksOf(db, [id]);
      if (marked && isPoison(marked)) return { state: 'failed', error: poisonous(marked) };
      const error = found.error instanceof Error ? found.error.message : null;
      return { state: states[found.status] ?? 'failed', error };
    },
    async recover(db, executor, because) {
      const client = await open();
      const begun = await client.listWorkflows({ executorId: executor, status: 'PENDING', loadInput: false });
      if (because === 'died') {
        const ids = begun.map((run) => run.workflowID);
        await mark(db, ids, sql`interruptions = workflow_marks.interruptions + 1`);
      }
      for (const [queueName, runs] of Map.groupBy(begun, (run) => run.queueName)) {
        const ids = runs.map((run) => run.workflowID);
        await client.resumeWorkflows(ids, queueName === undefined ? {} : { queueName });
        // Resumed may be what somebody cancelled meanwhile; it stays cancelled. So does what ends its processes.
        const ended = (await marksOf(db, ids)).filter((marked) => marked.cancelled_at !== null || isPoison(marked));
        if (ended.length > 0) await client.cancelWorkflows(ended.map((marked) => marked.workflow_id));
      }
    },
    async forget(db, endedBefore) {
      const client = await open();
      const ended = await client.listWorkflows({
        completedBefore: endedBefore.toISOString(),
        limit: 500,
        loadInput: false,
        loadOutput: false,
      });
      if (ended.length === 0) return 0;
      const ids = ended.map((run) => run.workflowID);
      await client.deleteWorkflows(ids);
      await sql`delete from workflow_marks where workflow_id = any(${ids})`.execute(db);
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

interface Mark {
  readonly workflow_id: string;
  readonly interruptions: number;
  readonly cancelled_at: Date | null;
}

const isPoison = ({ interruptions }: Mark): boolean => interruptions >= mostInterruptions;
const poisonous = ({ interruptions }: Mark): string => `its process ended while it ran, ${interruptions} times`;

async function mark(db: AnyDb, ids: readonly string[], change: ReturnType<typeof sql>): Promise<void> {
  if (ids.length === 0) return;
  await sql`insert into workflow_marks (workflow_id) select unnest(${ids}::text[])
    on conflict (workflow_id) do nothing`.execute(db);
  await sql`update workflow_marks set ${change}, updated_date = clock_timestamp()
    where workflow_id = any(${ids}::text[])`.execute(db);
}

async function marksOf(db: AnyDb, ids: readonly string[]): Promise<Mark[]> {
  const { rows } = await sql<Mark>`select workflow_id, interruptions, cancelled_at from workflow_marks
    where workflow_id = any(${ids}::text[])`.execute(db);
  return rows;
}

/** The engine writes through the caller's transaction; of a client it only uses `query`. */
function asClient(db: AnyDb): pg.ClientBase {
  const query = async (text: string, values: unknown[] = []) => {
    const { rows, numAffectedRows } = await db.executeQuery(CompiledQuery.raw(text, values));
    return { rows, rowCount: Number(numAffectedRows ?? rows.length) };
  };
  return { query } as unknown as pg.ClientBase;
}

export interface WorkflowRun {
  stop(withinMs: number): Promise<void>;
}

export interface EngineParts {
  readonly url: string;
  readonly db: AnyDb;
  /** The slot: whoever claims it next finds what this one left. */
  readonly executor: string;
  /** What the engine's connections call themselves. */
  readonly sessionName: string;
  readonly onWarning: (message: string) => void;
}

export const executorOf = (slot: number): string => `slot-${slot}`;

/** Runs workflows in this process, as the executor it names. Once per process. */
export async function runWorkflows(workflows: readonly Workflow[], parts: EngineParts): Promise<WorkflowRun> {
  if (workflows.length === 0) return { stop: async () => {} };
  registerDataSource(transactionsOn(parts.db));
  const registered = workflows.map((workflow) => ({ workflow, run: register(workflow) }));
  // Its own connections: a transaction step asks the engine something while it holds one of `db`'s.
  const { pool } = openDatabase({ url: parts.url, poolSize: enginePoolSize, applicationName: parts.sessionName });
  DBOS.setConfig(engineConfig(parts, pool));
  await DBOS.launch();
  for (const { workflow } of registered) await registerQueue(workflow);
  await applySchedules(registered);
  return {
    async stop(withinMs) {
      await DBOS.shutdown({ workflowCompletionTimeoutMS: withinMs });
      await pool.end();
    },
  };
}

type Registered = (input: never) => Promise<unknown>;

function register(workflow: Workflow): Registered {
  const run = (input: unknown) =>
    // The scheduler gives the time itself.
    workflow.run(flow(), (input instanceof Date ? { scheduled_at: input.toISOString() } : input) as never);
  return DBOS.registerWorkflow(run, { name: workflow.name, maxRecoveryAttempts: endless });
}

const registerQueue = ({ name, perProcess, perTenant, pollMs }: Workflow) =>
  DBOS.registerQueue(name, {
    workerConcurrency: perProcess,
    minPollingIntervalMs: pollMs ?? 500,
    onConflict: 'always_update',
    ...(perTenant === undefined ? {} : { partitionConcurrency: perTenant }),
  });

/** The schedules of this release, and no others: one that is no longer declared ends with the deploy. */
async function applySchedules(registered: readonly { workflow: Workflow; run: Registered }[]): Promise<void> {
  const wanted = registered.flatMap(({ workflow: { name, schedule }, run }) =>
    schedule === undefined
      ? []
      : [{ scheduleName: name, schedule, queueName: name, workflowFn: run as unknown as ScheduledWorkflowFn }],
  );
  const known = await DBOS.listSchedules();
  for (const { scheduleName } of known) {
    if (!wanted.some((schedule) => schedule.scheduleName === scheduleName)) await DBOS.deleteSchedule(scheduleName);
  }
  const changed = wanted.filter(({ scheduleName, schedule }) =>
    known.every((old) => old.scheduleName !== scheduleName || old.schedule !== schedule),
  );
  if (changed.length > 0) await DBOS.applySchedules(changed);
}

const engineConfig = ({ url, executor, onWarning }: EngineParts, pool: pg.Pool) => ({
  name: version,
  systemDatabaseUrl: url,
  systemDatabasePool: pool,
  systemDatabaseSchemaName: schema,
  applicationVersion: version,
  enablePatching: true,
  executorID: executor,
  runMigrations: false,
  schedulerPollingIntervalMs: 5_000,
  notificationCoalesceMs: 1_000, // of the engine's own events and streams, which nothing here uses; it polls for them
  logger: {
    ...quiet,
    warn: (message: unknown) => onWarning(String(message)),
    error: (e: unknown) => onWarning(String(e)),
  },
});

const flow = (): Flow => ({
  id: DBOS.workflowID as string,
  transaction: (name, work) => {
    const config: { db?: AnyDb } = {};
    return runTransaction(() => work(config.db as AnyDb), name, { dsName: dataSource, config });
  },
  step: (name, work, retry) =>
    DBOS.runStep(work, {
      name,
      ...(retry && { retriesAllowed: true, maxAttempts: retry.attempts, intervalSeconds: retry.firstMs / 1000 }),
    }),
  sleep: (ms) => DBOS.sleep(ms),
  receive: (topic, timeoutSeconds) => DBOS.recv(topic, { timeoutSeconds }),
  changed: (name) => DBOS.patch(name),
});

/** Exactly once: that a step ran is a row in the step's own transaction, and only a workflow's present owner commits. */
function transactionsOn(db: AnyDb): Parameters<typeof registerDataSource>[0] {
  return {
    name: dataSource,
    initialize: async () => {},
    destroy: async () => {},
    async invokeTransactionFunction(config, target, func, ...args) {
      const [workflowId, step] = [DBOS.workflowID as string, DBOS.stepID as number];
      const attempt = () =>
        transaction(db, async (db) => {
          const recorded = await findRecorded(db, workflowId, step);
          if (recorded !== undefined) return recorded.output as Awaited<ReturnType<typeof func>>;
          (config as { db?: AnyDb }).db = db;
          const output = await func.call(target, ...args);
          await record(db, workflowId, step, output);
          await assertStillOwnsWorkflow(workflowId);
          return output;
        });
      return retryLostConnections(attempt);
    },
    async deleteCheckpoints(workflowId, startStep, beforeCommit) {
      await transaction(db, async (db) => {
        await sql`delete from dbos.transaction_completion
          where workflow_id = ${workflowId} and function_num >= ${startStep}`.execute(db);
        await beforeCommit?.();
      });
    },
  };
}

async function findRecorded(db: AnyDb, workflowId: string, step: number): Promise<{ output: unknown } | undefined> {
  const [row] = await readRecorded(db, workflowId, step);
  return row && { output: row.output === null ? undefined : JSON.parse(row.output) };
}

const readRecorded = prepared<{ output: string | null }, [string, number]>(
  'find recorded step',
  'select output from dbos.transaction_completion where workflow_id = $1 and function_num = $2',
);
const insertRecorded = prepared<object, [string, number, string | null]>(
  'record step',
  `insert into dbos.transaction_completion (workflow_id, function_num, output) values ($1, $2, $3)
   on conflict do nothing returning 1`,
);

async function record(db: AnyDb, workflowId: string, step: number, output: unknown): Promise<void> {
  const rows = await insertRecorded(db, workflowId, step, output === undefined ? null : JSON.stringify(output));
  // A run of the same step by somebody else was first: this one undoes its own, and then finds the other's.
  if (rows.length === 0) throw new DBOSStepAlreadyRecordedError(workflowId, step);
}

const longestWaitMs = 5_000;

/** A step that lost its connection, or came second, is tried again: whether it had committed is found in its record. */
async function retryLostConnections<T>(attempt: () => Promise<T>): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      const passes = failureOf(error) !== undefined || error instanceof DBOSStepAlreadyRecordedError;
      if (!passes) throw error;
      await sleep(waitMs);
    }
  }
}
