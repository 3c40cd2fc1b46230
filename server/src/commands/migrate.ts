// plinth migrate: bring the database to this release's schema. Safe to run twice, and from several machines at once.
import { migrationsFolder } from '../app.ts';
import { readConfig } from '../config.ts';
import { migrate, readMigrations } from '../kit/db/migrate.ts';
import { migrateWorkflows } from '../kit/later/engine.ts';

export async function migrateDatabase(): Promise<void> {
  const { DATABASE_URL } = readConfig();
  const applied = await migrate(DATABASE_URL, await readMigrations(migrationsFolder));
  await migrateWorkflows(DATABASE_URL);
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'nothing to apply');
}
