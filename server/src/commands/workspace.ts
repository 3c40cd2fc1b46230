// `plinth workspace restore`, which restores a deleted workspace. A workspace is purged 30 days after its
// deletion.
import { ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import { restoreWorkspace } from '../core/identity/workspaces.ts';
import { openDatabase } from '../kit/db/database.ts';
import { idOrNull } from '../kit/ids.ts';
import type { Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { workspaceUsage } from './usages.ts';

export async function workspace(args: string[]): Promise<void> {
  const options = { id: { type: 'string' } } as const;
  const { values, words } = parseArguments(args, { usage: workspaceUsage, options, maxWords: 1 });
  if (words[0] !== 'restore' || values.id === undefined) throw new UsageError(workspaceUsage);
  const { db, close } = openDatabase<Tables>({ url: readConfig().DATABASE_URL, poolSize: 1 });
  try {
    const now = new Date();
    const sent = idOrNull(values.id);
    const restored = sent === null ? undefined : await restoreWorkspace(db, sent, now);
    if (restored === undefined) throw new ConfigError('There is no workspace with this id.');
    const { id, name } = restored;
    await auditService(db, id, { type: 'workspace.restored', target: { kind: 'workspace', id } }, now);
    console.log(`restored workspace ${name}`);
  } finally {
    await close();
  }
}
