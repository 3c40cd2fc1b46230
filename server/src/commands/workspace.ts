// Owns `plinth workspace restore`: restores a deleted workspace before it is purged, 30 days after its deletion.
import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../config.ts';
import { auditService } from '../core/audit/audit.ts';
import { saveWorkspace } from '../core/identity/workspaces.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';

export async function workspace(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, options: { id: { type: 'string' } }, allowPositionals: true });
  if (positionals[0] !== 'restore' || values.id === undefined)
    throw new ConfigError('usage: plinth workspace restore --id ID');
  const { db, close } = openDatabase<Tables>({ url: readConfig().DATABASE_URL, poolSize: 1 });
  try {
    const now = new Date();
    const { id, name } = await saveWorkspace(db, values.id, { deleted_date: null, updated_date: now });
    await auditService(db, id, { type: 'workspace.restored', target: { kind: 'workspace', id } }, now);
    console.log(`restored workspace ${name}`);
  } finally {
    await close();
  }
}
