// plinth import ARCHIVE: restores an export as a new workspace of this installation.
import { importWorkspace } from '../app.ts';
import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';

export async function importArchive([file]: string[]): Promise<void> {
  if (file === undefined) throw new ConfigError('usage: plinth import ARCHIVE');
  const { DATABASE_URL } = readConfig();
  const { db, close } = openDatabase<Tables>({ url: DATABASE_URL, poolSize: 1 });
  try {
    const { workspace_id, counts } = await importWorkspace(db, file, new Date());
    console.log(`restored as workspace ${workspace_id}`);
    for (const [table, rows] of Object.entries(counts)) console.log(`  ${table.padEnd(16)} ${rows}`);
  } finally {
    await close();
  }
}
