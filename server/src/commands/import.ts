// `plinth import ARCHIVE`, which imports an exported workspace as a new workspace.
import { importWorkspace } from '../app/archives.ts';
import { ConfigError, readConfig } from '../config.ts';
import { ArchiveError } from '../kit/archive/archive-error.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { importUsage } from './usages.ts';

const flag = { type: 'boolean' } as const;
const options = { 'keep-plan': flag, 'skip-audit-log': flag, 'any-size': flag };

export async function importArchive(args: string[]): Promise<void> {
  const { values, words } = parseArguments(args, { usage: importUsage, options, maxWords: 1 });
  const [file] = words;
  if (file === undefined) throw new UsageError(importUsage);
  const { DATABASE_URL, DEFAULT_PLAN } = readConfig();
  const choices = {
    defaultPlan: DEFAULT_PLAN,
    keepPlan: values['keep-plan'] ?? false,
    skipAuditLog: values['skip-audit-log'] ?? false,
    anySize: values['any-size'] ?? false,
  };
  const { db, close } = openDatabase<Tables>({ url: DATABASE_URL, poolSize: 1 });
  try {
    const { workspace_id, counts, skipped, people } = await importWorkspace(db, file, choices, new Date());
    console.log(`imported as workspace ${workspace_id}`);
    console.log(`people: ${people.found} had an account, ${people.created} accounts were created`);
    for (const [table, rows] of Object.entries(counts)) console.log(`  ${table.padEnd(20)} ${rows}`);
    for (const [table, rows] of Object.entries(skipped))
      console.log(
        `left out: ${rows} rows of ${table}, because they refer to something that was deleted during the export`,
      );
  } catch (error) {
    if (error instanceof ArchiveError)
      throw new ConfigError(`The archive was not imported, and nothing was stored: ${error.message}.`);
    if ((error as NodeJS.ErrnoException).path === file)
      throw new ConfigError(`The archive can't be read: ${(error as Error).message}.`);
    throw error;
  } finally {
    await close();
  }
}
