// Owns `plinth import ARCHIVE`: imports an exported workspace as a new workspace.
import { importWorkspace } from '../app.ts';
import { ConfigError, readConfig } from '../config.ts';
import { ArchiveError } from '../kit/archive/archive-error.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';

export const importUsage = 'import ARCHIVE [--keep-plan] [--skip-audit-log] [--any-size]';
const flags = ['--keep-plan', '--skip-audit-log', '--any-size'];

export async function importArchive(args: string[]): Promise<void> {
  const [file, ...more] = args.filter((arg) => !flags.includes(arg));
  if (file === undefined || more.length > 0) throw new ConfigError(`usage: plinth ${importUsage}`);
  const { DATABASE_URL, DEFAULT_PLAN } = readConfig();
  const options = {
    defaultPlan: DEFAULT_PLAN,
    keepPlan: args.includes('--keep-plan'),
    skipAuditLog: args.includes('--skip-audit-log'),
    anySize: args.includes('--any-size'),
  };
  const { db, close } = openDatabase<Tables>({ url: DATABASE_URL, poolSize: 1 });
  try {
    const { workspace_id, counts, people } = await importWorkspace(db, file, options, new Date());
    console.log(`imported as workspace ${workspace_id}`);
    console.log(`people: ${people.found} had an account, ${people.created} accounts were created`);
    for (const [table, rows] of Object.entries(counts)) console.log(`  ${table.padEnd(20)} ${rows}`);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new ConfigError(`The archive was not imported, and nothing was stored: ${error.message}.`);
  } finally {
    await close();
  }
}
