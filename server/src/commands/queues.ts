// `plinth queues`: shows queues and why a row does not run, and retries, cancels or pauses work by hand.
import { createApp } from '../app.ts';
import { ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import { describeQueueChange, type QueueAuditType, type QueueChange } from '../core/audit/queues.ts';
import {
  cancelQueueRows,
  explainQueueRow,
  listQueueRows,
  listQueueStates,
  NotByHand,
  type RowState,
  retryQueueRows,
  rowStates,
} from '../kit/background/queues/operate.ts';
import { pauseQueue, resumeQueue } from '../kit/background/queues/pauses.ts';
import type { Queue } from '../kit/background/queues/queue.ts';
import { transaction } from '../kit/db/database.ts';
import { idOrNull } from '../kit/ids.ts';
import { createLog } from '../kit/log.ts';
import type { Db } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { queuesUsage } from './usages.ts';

const options = {
  json: { type: 'boolean' },
  state: { type: 'string' },
  owner: { type: 'string' },
  limit: { type: 'string' },
  failed: { type: 'boolean' },
  since: { type: 'string' },
  reason: { type: 'string' },
  for: { type: 'string' },
} as const;

/** The most rows that one command names by their ids. */
const maxIds = 100;

export async function queues(args: string[]): Promise<void> {
  parseCommand(args); // before anything is opened
  const config = readConfig();
  const app = createApp(config, { migrations: [], log: createLog('fatal') });
  try {
    await operateQueues(app.database.db, app.background.queues, args, console.log);
  } finally {
    await app.close();
  }
}

/** Runs a command and passes each line of its output to `print`. */
export async function operateQueues(
  db: Db,
  queues: readonly Queue[],
  args: string[],
  print: (line: string) => void,
): Promise<void> {
  const { verb, queueName, ids, values } = parseCommand(args);
  const owner = values.owner === undefined ? undefined : toId(values.owner, 'owner');
  const printRows = (rows: readonly object[]) => {
    for (const line of values.json ? rows.map((row) => JSON.stringify(row)) : toTable(rows)) print(line);
  };
  if (verb === 'list') return printRows(await listQueueStates(db, queues));
  const queue = queues.find(({ name }) => name === queueName);
  if (queue === undefined)
    throw new ConfigError(
      `There is no queue with this name. The queues are: ${queues.map(({ name }) => name).join(', ')}`,
    );
  /** Records what was done in the transaction that does it. */
  const record = (type: QueueAuditType, change: QueueChange) => (db: Db, count?: number) =>
    auditService(
      db,
      null,
      describeQueueChange(type, queue, { ...change, ...(count !== undefined && { count }) }),
      new Date(),
    );
  const which = { ...(ids.length > 0 && { ids }), ...(owner !== undefined && { owner }) };
  switch (verb) {
    case 'show': {
      const [id] = ids;
      if (id === undefined)
        return printRows(
          (await listQueueRows(db, queue, { state: toState(values.state), owner, limit: toLimit(values.limit) })).map(
            ({ at: _, ...row }) => row,
          ),
        );
      const row = await explainQueueRow(db, queue, id);
      if (row === undefined) throw new ConfigError(`There is no row with this id in ${queue.name}.`);
      if (values.json) return print(JSON.stringify(row));
      const { why, ...columns } = row;
      for (const [name, value] of Object.entries(columns)) print(`${name}: ${toText(value)}`);
      for (const sentence of why) print(`why: ${sentence}`);
      return;
    }
    case 'retry': {
      const since = values.since === undefined ? undefined : toTime(values.since);
      const filter = { ...which, ...(since !== undefined && { since }) };
      const count = await retryQueueRows(db, queue, filter, record('queue.retried', filter)).catch(explainNotByHand);
      return print(`Due again in ${queue.name}: ${count}`);
    }
    case 'cancel': {
      const reason = values.reason ?? '';
      const chosen = ids.length > 0 ? { ids } : { owner: owner ?? '' };
      const { cancelled, running } = await cancelQueueRows(
        db,
        queue,
        chosen,
        reason,
        record('queue.cancelled', { ...which, reason }),
      ).catch(explainNotByHand);
      print(`Cancelled in ${queue.name}: ${cancelled}`);
      for (const id of running) print(`Left, because it is running: ${id}`);
      return;
    }
    case 'pause': {
      const seconds = toSeconds(values.for);
      const { until } = await transaction(db, async (db) => {
        const pause = await pauseQueue(db, queue, owner ?? null, seconds);
        await record('queue.paused', { ...which, until: pause.until })(db);
        return pause;
      });
      return print(`${queue.name} is paused until ${until.toISOString()}. Rows that are running continue.`);
    }
    case 'resume': {
      const wasPaused = await transaction(db, async (db) => {
        const resumed = await resumeQueue(db, queue, owner ?? null);
        if (resumed) await record('queue.resumed', which)(db);
        return resumed;
      });
      return print(wasPaused ? `${queue.name} is resumed` : `${queue.name} was not paused`);
    }
  }
}

function explainNotByHand(error: unknown): never {
  if (error instanceof NotByHand) throw new ConfigError(error.message);
  throw error;
}

// ---- arguments

const verbs = ['list', 'show', 'retry', 'cancel', 'pause', 'resume'] as const;

/** The options that each verb takes. */
const optionsOf: Record<(typeof verbs)[number], readonly (keyof typeof options)[]> = {
  list: ['json'],
  show: ['json', 'state', 'owner', 'limit'],
  retry: ['failed', 'owner', 'since'],
  cancel: ['owner', 'reason'],
  pause: ['owner', 'for'],
  resume: ['owner'],
};

function parseCommand(args: string[]) {
  const { values, words } = parseArguments(args, { usage: queuesUsage, options, maxWords: maxIds + 2 });
  const [word = '', queueName, ...idWords] = words;
  const verb = verbs.find((each) => each === word);
  const fail = (fault: string): never => {
    throw new UsageError(queuesUsage, fault);
  };
  if (verb === undefined) return fail(word === '' ? 'The verb is missing.' : `There is no verb '${word}'.`);
  for (const name of Object.keys(values) as (keyof typeof options)[])
    if (!optionsOf[verb].includes(name)) fail(`${verb} does not take --${name}.`);
  if (verb !== 'list' && queueName === undefined) fail('The name of the queue is missing.');
  const maxIdsOf = { list: 0, show: 1, retry: maxIds, cancel: maxIds, pause: 0, resume: 0 }[verb];
  if (idWords.length > maxIdsOf || (verb === 'list' && queueName !== undefined)) fail('There are too many arguments.');
  const hasIds = idWords.length > 0;
  if (verb === 'retry' && hasIds === (values.failed ?? false)) fail('Name rows by their ids, or all with --failed.');
  if (verb === 'retry' && hasIds && (values.owner !== undefined || values.since !== undefined))
    fail('--owner and --since belong to --failed.');
  if (verb === 'cancel' && hasIds === (values.owner !== undefined))
    fail("Name rows by their ids, or an owner's with --owner.");
  if (verb === 'cancel' && !values.reason?.trim()) fail('Say why, with --reason.');
  if (verb === 'pause' && values.for === undefined) fail('Say for how long, with --for.');
  return { verb, queueName, ids: idWords.map((id) => toId(id, 'row')), values };
}

function toId(text: string, what: string): string {
  const id = idOrNull(text);
  if (id === null) throw new ConfigError(`The id of the ${what} must be a UUID.`);
  return id;
}

function toState(text: string | undefined): RowState | undefined {
  const state = rowStates.find((each) => each === text);
  if (text !== undefined && state === undefined) throw new ConfigError(`--state is one of ${rowStates.join(', ')}.`);
  return state;
}

const maxLimit = 1_000;

function toLimit(text = '50'): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) throw new ConfigError(`--limit is a number from 1 to ${maxLimit}.`);
  return limit;
}

function toTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new ConfigError('--since is a time such as 2026-11-15T10:00:00Z.');
  return time;
}

const unitSeconds: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };
const maxPauseSeconds = 7 * 86_400;

function toSeconds(text = ''): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? Number.NaN);
  if (!(seconds > 0 && seconds <= maxPauseSeconds))
    throw new ConfigError('--for is a time such as 30m, 1h or 2d, and at most 7d. A longer pause would be forgotten.');
  return seconds;
}

// ---- output

const toText = (value: unknown): string => {
  if (value === null || value === undefined) return '–';
  return value instanceof Date ? value.toISOString() : String(value);
};

/** Lines with columns of the same width. */
function toTable(rows: readonly object[]): string[] {
  const [first] = rows;
  if (first === undefined) return ['nothing'];
  const lines = [Object.keys(first), ...rows.map((row) => Object.values(row).map(toText))];
  const widths = Object.keys(first).map((_, n) => Math.max(...lines.map((line) => line[n]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((text, n) => text.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
