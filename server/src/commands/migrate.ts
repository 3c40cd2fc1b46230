// plinth migrate: bring the database to this release's schema. Safe to run twice, and from several machines at once.
import { migrationsFolder } from '../app.ts';
import { readConfig } from '../config.ts';
import { migrateWorkflows } from '../kit/background/workflows/engine.ts';
import { migrate, readMigrations } from '../kit/db/migrate.ts';

export async function migrateDatabase(): Promise<void> {
  const applied = await migrateAll(readConfig().DATABASE_URL);
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'nothing to apply');
}

/** The product's tables and the workflow engine's; gives the names of the migrations applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url, await readMigrations(migrationsFolder));
  await migrateWorkflows(url);
  return applied;
}
