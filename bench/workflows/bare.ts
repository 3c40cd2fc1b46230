// The baseline. It only inserts step rows, each committed by one prepared statement, over as many connections as a
// worker has. The variant `fenced` also stores the run's state, as a worker must.
import pg from 'pg';

export interface Order {
  readonly workspace_id: string;
  /** The runs that get the steps. They must exist and have no steps yet. */
  readonly runs: readonly string[];
  /** Each step's column values, starting with `number`. */
  readonly steps: readonly (readonly unknown[])[];
  /** The state that `fenced` stores with each step. */
  readonly state: string;
  readonly variant: 'insert' | 'fenced';
}

const columns = 'number, task_path, name, task_type, status, attempt, started_at, completed_at, input, output, error';
const statements = {
  insert: `insert into workflow_steps (workspace_id, run_id, ${columns})
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
  fenced: `with run as (update workflow_runs set state = $14, steps_count = $3 where id = $2 returning 1)
    insert into workflow_steps (workspace_id, run_id, ${columns})
    select $1, $2, $3::integer, $4, $5, $6, $7, $8::integer, $9::timestamptz, $10::timestamptz, $11::json, $12::json, $13::jsonb from run`,
};

const [url = '', connections = '1'] = process.argv.slice(2);
const clients = await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const client = new pg.Client(url);
    await client.connect();
    return client;
  }),
);

process.on('message', async ({ workspace_id, runs, steps, state, variant }: Order) => {
  const text = statements[variant];
  const left = [...runs];
  const startedAt = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      for (let run = left.pop(); run !== undefined; run = left.pop()) {
        for (const step of steps) {
          const values = [workspace_id, run, ...step, ...(variant === 'fenced' ? [state] : [])];
          await client.query({ name: variant, text, values });
        }
      }
    }),
  );
  process.send?.({ seconds: (performance.now() - startedAt) / 1000 });
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
