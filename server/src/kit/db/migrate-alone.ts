// Migrations that can't run in a transaction: one statement each, during which writes continue. A run that was interrupted
// may have done a part of it, so the statement must be one that can be repeated.
import type pg from 'pg';

const marker = /^-- module: [^\n]+\n-- transaction: none\n/;

// Both take a lock that lets reads and writes continue, and so does waiting for it.
const buildIndex = /^create (?:unique )?index concurrently ([a-z_][a-z0-9_]*) on [^;]+;?$/;
const validateConstraint = /^alter table [a-z0-9_]+ validate constraint [a-z0-9_]+;?$/;

export interface LoneStatement {
  readonly statement: string;
  /** The index that the statement builds. */
  readonly index: string | undefined;
}

/** Parses a migration that is marked with `-- transaction: none`. Returns undefined for others. Throws with a reason. */
export function parseLoneStatement(text: string): LoneStatement | undefined {
  if (!marker.test(text)) return undefined;
  const statement = text
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
  const index = buildIndex.exec(statement)?.[1];
  if (index === undefined && !validateConstraint.test(statement))
    throw new Error(
      'without a transaction, a migration must be one "create index concurrently NAME on …" or "alter table … validate constraint …"',
    );
  return { statement, index };
}

/**
 * Runs the statement, which waits for all older transactions. An interrupted build leaves an invalid index with the
 * same name, which is dropped first.
 */
export async function runLoneStatement(client: pg.Client, { statement, index }: LoneStatement): Promise<void> {
  await client.query('set statement_timeout = 0');
  if (index === undefined) await client.query(statement);
  else {
    const isValid = await findIndexState(client, index);
    if (isValid === false) await client.query(`drop index concurrently ${index}`);
    if (isValid !== true) await client.query(statement);
  }
  await client.query('reset statement_timeout');
}

async function findIndexState(client: pg.Client, index: string): Promise<boolean | undefined> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    'select indisvalid from pg_index where indexrelid = to_regclass($1)',
    [index],
  );
  return rows[0]?.indisvalid;
}

const reportEveryMs = 10_000;

/** Reports every ten seconds which sessions the client's statement waits for. Returns the function that stops this. */
export async function reportWaits(
  client: pg.Client,
  connect: () => Promise<pg.Client>,
  report: (holders: string) => void,
  everyMs = reportEveryMs,
): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const watcher = await connect();
  const timer = setInterval(
    () =>
      void watcher
        .query<{ holders: string | null }>(describeHolders, [rows[0]?.pid])
        .then(({ rows: [found] }) => found?.holders && report(found.holders))
        .catch(() => {}), // the report is a courtesy
    everyMs,
  );
  return async () => {
    clearInterval(timer);
    await watcher.end();
  };
}

const describeHolders = `select string_agg(format('process %s (%s, %s, transaction open for %s s)', pid,
    coalesce(nullif(application_name, ''), 'no name'), state, round(extract(epoch from clock_timestamp() - xact_start))), '; ') as holders
  from pg_stat_activity where pid = any(pg_blocking_pids($1))`;
