// Owns executing workflows in a worker: DBOS, configured so that a deployment, a crash or a lost connection neither loses a
// run nor repeats a database step.
import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS, type ScheduledWorkflowFn } from '@dbos-inc/dbos-sdk';
import {
  assertStillOwnsWorkflow,
  DBOSStepAlreadyRecordedError,
  migrateDataSourcePG,
  registerDataSource,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource';
import { sql } from 'kysely';
import pg from 'pg';
import { type AnyDb, openDatabase, prepared, transaction } from '../../db/database.ts';
import { classifyFailure, isStatementTimeout } from '../../db/failures.ts';
import { markWaiting } from './run-state.ts';
import { schema, silentLogger, version, type Workflow, type WorkflowContext } from './workflows.ts';

// DBOS also counts recoveries caused by deployments, so its limit must never be reached. We count crashes ourselves.
const unlimitedRecoveries = 1_000_000;
const dataSource = 'plinth';
const enginePoolSize = 10;

/** Creates or updates the tables of DBOS. */
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

export interface RunningWorkflows {
  isRunning(id: string): boolean;
  /** Sets the schedules of this release again: during a deployment an older release may have changed them. */
  applySchedules(): Promise<void>;
  stop(timeoutMs: number): Promise<void>;
}

export interface EngineDeps {
  readonly url: string;
  readonly db: AnyDb;
  /** The DBOS executor id. It names the slot, so that the slot's next holder finds these runs. */
  readonly executor: string;
  /** The `application_name` of the connections of DBOS. */
  readonly sessionName: string;
  readonly onWarning: (message: string) => void;
}

export const toExecutorId = (slot: number): string => `slot-${slot}`;

/** Executes workflows in this process. Call it once per process. */
export async function runWorkflows(workflows: readonly Workflow[], deps: EngineDeps): Promise<RunningWorkflows> {
  if (workflows.length === 0) return { isRunning: () => false, applySchedules: async () => {}, stop: async () => {} };
  registerDataSource(createDataSource(deps.db));
  const running = new Map<string, number>();
  const registered = workflows.map((workflow) => ({ workflow, run: register(workflow, deps.db, running) }));
  // DBOS has its own connections: a transaction step queries DBOS while it holds one of `db`'s.
  const { pool } = openDatabase({ url: deps.url, poolSize: enginePoolSize, applicationName: deps.sessionName });
  // Only the queues of this release: a run of an unknown workflow waits for a release that knows it.
  DBOS.setConfig({ ...engineConfig(deps, pool), listenQueues: workflows.map(({ name }) => name) });
  await DBOS.launch();
  for (const { workflow } of registered) await registerQueue(workflow);
  await applySchedules(registered);
  return {
    isRunning: (id) => running.has(id),
    applySchedules: () => applySchedules(registered),
    async stop(timeoutMs) {
      await DBOS.shutdown({ workflowCompletionTimeoutMS: timeoutMs });
      await pool.end();
    },
  };
}

type Registered = (input: never) => Promise<unknown>;

function register(workflow: Workflow, db: AnyDb, running: Map<string, number>): Registered {
  if (workflow.schedule !== undefined && workflow.perTenant !== undefined)
    throw new Error(`${workflow.name}: a scheduled workflow can't have a limit per tenant`);
  const run = async (input: unknown) => {
    const id = DBOS.workflowID as string;
    running.set(id, (running.get(id) ?? 0) + 1);
    try {
      // The scheduler passes the time as a Date.
      const workflowInput = input instanceof Date ? { scheduled_at: input.toISOString() } : input;
      return await workflow.run(createContext(id, db), workflowInput);
    } finally {
      const remaining = (running.get(id) ?? 1) - 1;
      if (remaining > 0) running.set(id, remaining);
      else running.delete(id);
    }
  };
  return DBOS.registerWorkflow(run, { name: workflow.name, maxRecoveryAttempts: unlimitedRecoveries });
}

const registerQueue = ({ name, perProcess, perTenant, pollMs }: Workflow) =>
  DBOS.registerQueue(name, {
    workerConcurrency: perProcess,
    minPollingIntervalMs: pollMs ?? 500,
    onConflict: 'always_update',
    ...(perTenant === undefined ? {} : { partitionConcurrency: perTenant }),
  });

/** Sets the schedules of this release and deletes all others. */
async function applySchedules(registered: readonly { workflow: Workflow; run: Registered }[]): Promise<void> {
  const declared = registered.flatMap(({ workflow: { name, schedule }, run }) =>
    schedule === undefined
      ? []
      : [{ scheduleName: name, schedule, queueName: name, workflowFn: run as unknown as ScheduledWorkflowFn }],
  );
  const existing = await DBOS.listSchedules();
  for (const { scheduleName } of existing) {
    if (!declared.some((schedule) => schedule.scheduleName === scheduleName)) await DBOS.deleteSchedule(scheduleName);
  }
  const changed = declared.filter(({ scheduleName, schedule }) =>
    existing.every((old) => old.scheduleName !== scheduleName || old.schedule !== schedule),
  );
  if (changed.length > 0) await DBOS.applySchedules(changed);
}

const engineConfig = ({ url, executor, onWarning }: EngineDeps, pool: pg.Pool) => ({
  name: version,
  systemDatabaseUrl: url,
  systemDatabasePool: pool,
  systemDatabaseSchemaName: schema,
  applicationVersion: version,
  enablePatching: true,
  executorID: executor,
  runMigrations: false,
  schedulerPollingIntervalMs: 5_000,
  notificationCoalesceMs: 1_000, // for the events and streams of DBOS, which are not used here
  logger: {
    ...silentLogger,
    warn: (message: unknown) => onWarning(String(message)),
    error: (e: unknown) => onWarning(String(e)),
  },
});

const createContext = (id: string, db: AnyDb): WorkflowContext => ({
  id,
  transaction: (name, work) => {
    const config: { db?: AnyDb } = {};
    return runTransaction(() => work(config.db as AnyDb), name, { dsName: dataSource, config });
  },
  step: (name, work, retry) =>
    DBOS.runStep(work, {
      name,
      ...(retry && { retriesAllowed: true, maxAttempts: retry.attempts, intervalSeconds: retry.firstMs / 1000 }),
    }),
  sleep: (ms) => waitUncounted(db, id, ms, () => DBOS.sleep(ms)),
  receive: (topic, timeoutSeconds) =>
    waitUncounted(db, id, timeoutSeconds * 1000, () => DBOS.recv(topic, { timeoutSeconds })),
  changed: (name) => DBOS.patch(name),
});

const shortWaitMs = 1_000;

/** Marks the run as waiting: a crash during a wait is not counted against it. */
async function waitUncounted<T>(db: AnyDb, id: string, ms: number, wait: () => Promise<T>): Promise<T> {
  if (ms <= shortWaitMs) return wait();
  await markWaiting(db, id, true);
  const result = await wait();
  await markWaiting(db, id, false);
  return result;
}

/**
 * Runs transaction steps exactly once: the step's record is written in its own transaction, and only the current owner of
 * the run commits.
 */
function createDataSource(db: AnyDb): Parameters<typeof registerDataSource>[0] {
  return {
    name: dataSource,
    initialize: async () => {},
    destroy: async () => {},
    async invokeTransactionFunction(config, target, func, ...args) {
      const [workflowId, step] = [DBOS.workflowID as string, DBOS.stepID as number];
      const attempt = () =>
        transaction(db, async (db) => {
          const recorded = await findStep(db, workflowId, step);
          if (recorded !== undefined) return recorded.output as Awaited<ReturnType<typeof func>>;
          (config as { db?: AnyDb }).db = db;
          const text = JSON.stringify(await func.call(target, ...args));
          await insertStep(db, workflowId, step, text);
          await assertStillOwnsWorkflow(workflowId);
          return parseOutput(text);
        });
      return retryLostConnections(workflowId, attempt);
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

async function findStep(db: AnyDb, workflowId: string, step: number): Promise<{ output: unknown } | undefined> {
  const [row] = await selectStep(db, workflowId, step);
  return row && { output: parseOutput(row.output ?? undefined) };
}

/** Used for new and for recorded steps, so that both return the same value. */
const parseOutput = (text: string | undefined) => (text === undefined ? undefined : JSON.parse(text));

const selectStep = prepared<{ output: string | null }, [string, number]>(
  'find recorded step',
  'select output from dbos.transaction_completion where workflow_id = $1 and function_num = $2',
);
const insertStepRow = prepared<object, [string, number, string | null]>(
  'record step',
  `insert into dbos.transaction_completion (workflow_id, function_num, output) values ($1, $2, $3)
   on conflict do nothing returning 1`,
);

async function insertStep(db: AnyDb, workflowId: string, step: number, output: string | undefined): Promise<void> {
  const rows = await insertStepRow(db, workflowId, step, output ?? null);
  // Another worker recorded this step first: roll this transaction back, then use the recorded output.
  if (rows.length === 0) throw new DBOSStepAlreadyRecordedError(workflowId, step);
}

const maxRetryWaitMs = 5_000;

/** Retries a step that lost its connection or was recorded by another worker. Its record shows whether it committed. */
async function retryLostConnections<T>(workflowId: string, attempt: () => Promise<T>): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, maxRetryWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      const isTransient = classifyFailure(error) !== undefined || error instanceof DBOSStepAlreadyRecordedError;
      if (!isTransient || isStatementTimeout(error)) throw error;
      await sleep(waitMs);
      await assertOwned(workflowId);
    }
  }
}

/** Throws if the run was cancelled or taken over. While the database is unavailable that is unknown, and retries go on. */
async function assertOwned(workflowId: string): Promise<void> {
  try {
    await assertStillOwnsWorkflow(workflowId);
  } catch (error) {
    if (classifyFailure(error) === undefined) throw error;
  }
}
