// Owns `plinth import ARCHIVE [--keep-plan]`: imports an exported workspace as a new workspace.
import { importWorkspace } from '../app.ts';
import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';

export async function importArchive(args: string[]): Promise<void> {
  const [file] = args.filter((arg) => !arg.startsWith('--'));
  if (file === undefined) throw new ConfigError('usage: plinth import ARCHIVE [--keep-plan]');
  const { DATABASE_URL, DEFAULT_PLAN } = readConfig();
  const options = { defaultPlan: DEFAULT_PLAN, keepPlan: args.includes('--keep-plan') };
  const { db, close } = openDatabase<Tables>({ url: DATABASE_URL, poolSize: 1 });
  try {
    const { workspace_id, counts } = await importWorkspace(db, file, options, new Date());
    console.log(`imported as workspace ${workspace_id}`);
    for (const [table, rows] of Object.entries(counts)) console.log(`  ${table.padEnd(16)} ${rows}`);
  } finally {
    await close();
  }
}
