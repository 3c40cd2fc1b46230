// Builds an index on a large table, and turns the table into the first partition of another, while others write to it.
import { besideWrites, createNotes, insertNotes, type Measured, measure, type Services } from './part.ts';

const writeBarMs = 1_000;
const name = 'bench_upgraded';

export async function measureUpgrade(services: Services): Promise<Measured> {
  const { pool, quick, progress } = services;
  const rows = quick ? 200_000 : 10_000_000;
  await pool.query(createNotes(name, false));
  await pool.query(insertNotes(name, rows, 30, 0));
  const steps = {
    index: `create index concurrently ${name}_by_workspace on ${name} (workspace_id)`,
    bound: `select prepare_partitions('${name}', 'id', 1)`,
    validate: `alter table ${name} validate constraint ${name}_until_partitioned`,
    attach: `
      select move_to_partition('${name}');
      create table ${name} (id uuid, workspace_id uuid not null, body text not null, primary key (id)) partition by range (id);
      create index ${name}_of_workspace on ${name} (workspace_id, id);
      insert into partitioned_tables (name, key_column, days, kept_days) values ('${name}', 'id', 1, 30);
      select attach_first_partition('${name}');`,
  };
  const figures: Record<string, { ms: number; writes: { p50_ms: number; longest_ms: number } }> = {};
  for (const [step, text] of Object.entries(steps)) {
    const { result, writes } = await besideWrites(services, name, () => measure(services, () => pool.query(text)));
    figures[step] = { ms: result.ms, writes };
    progress(`${step}, ${rows} rows: ${JSON.stringify(figures[step])}`);
  }
  const longestOf = (...names: string[]) => Math.max(...names.map((step) => figures[step]?.writes.longest_ms ?? 0));
  return {
    figures: { rows, ...figures },
    judged: [
      { bar: `an index on ${rows} rows: no write waits > ${writeBarMs} ms`, met: longestOf('index') <= writeBarMs },
      {
        bar: `the change to partitions of ${rows} rows: no write waits > ${writeBarMs} ms`,
        met: longestOf('bound', 'validate', 'attach') <= writeBarMs,
      },
    ],
  };
}
