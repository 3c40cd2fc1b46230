// Owns `plinth migrate`: applies pending migrations. Safe to run repeatedly and from several machines at once.
import { migrationsFolder } from '../app.ts';
import { readConfig } from '../config.ts';
import { migrateWorkflows } from '../kit/background/workflows/engine.ts';
import { migrate, readMigrations } from '../kit/db/migrate.ts';

export async function migrateDatabase(): Promise<void> {
  const applied = await migrateAll(readConfig().DATABASE_URL);
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'no pending migrations');
}

/** Migrates Plinth's own tables and those of the workflow engine. Returns the names of the migrations it applied. */
export async function migrateAll(url: string): Promise<string[]> {
  const applied = await migrate(url, await readMigrations(migrationsFolder));
  await migrateWorkflows(url);
  return applied;
}
