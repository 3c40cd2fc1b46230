// The operations on existing connections: disconnecting, removing, and moving their app to the trash
// (docs/api/connectors.md#disconnecting).
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../kit/http/answer.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Connector } from './catalogue.ts';
import { removeAttempt, removeAttemptsOf } from './store/attempts.ts';
import { type ConnectionRow, lockConnection, noTokens, removeConnection, saveConnection } from './store/connections.ts';

export interface RevokeDeps {
  /** Best effort, after the commit. Our copies of the tokens are erased whether or not the service responds. */
  revoke(connection: ConnectionRow): Promise<unknown>;
}

type ConnectorAccess = AppAccess & { readonly connector: Connector };

/** Erases the tokens and keeps the configuration. Ends a pending attempt. */
export async function disconnectConnector(
  db: Db,
  deps: RevokeDeps,
  access: ConnectorAccess,
  now: Date,
): Promise<Answer<{ status: 'disconnected'; integration_type: string }>> {
  const { integration_type } = access.connector;
  const before = await transaction(db, async (db) => {
    const row = await lockConnection(db, access.app, integration_type);
    if (row === undefined || row.status === 'pending') throw notFound('connection_not_found');
    const hadAttempt = await removeAttempt(db, row);
    if (row.status === 'disconnected' && !hadAttempt) return undefined;
    await saveConnection(db, row, { ...noTokens, status: 'disconnected', last_error: null, updated_date: now });
    await auditEnd(db, access, 'connection.disconnected', row, now);
    return row;
  });
  const body = { status: 'disconnected', integration_type } as const;
  if (before === undefined) return unchanged(body);
  await deps.revoke(before);
  return withNotes(body, {});
}

/** Erases the tokens and the configuration. */
export async function removeConnector(db: Db, deps: RevokeDeps, access: ConnectorAccess, now: Date) {
  const { integration_type } = access.connector;
  const before = await transaction(db, async (db) => {
    const row = await lockConnection(db, access.app, integration_type);
    if (row === undefined) throw notFound('connection_not_found');
    await removeConnection(db, row);
    await auditEnd(db, access, 'connection.removed', row, now);
    return row;
  });
  await deps.revoke(before);
  return { status: 'removed', integration_type } as const;
}

/** Ends attempts when the app is moved to the trash. Its connections are kept, because the app may be restored. */
export const endAttempts = (db: Db, { app }: AppAccess): Promise<void> => removeAttemptsOf(db, app);

function auditEnd(
  db: Db,
  access: AppAccess,
  type: 'connection.disconnected' | 'connection.removed',
  { id, integration_type, status, scopes, connection_config }: ConnectionRow,
  now: Date,
): Promise<void> {
  const before = { status, integration_type, scopes, connection_config };
  return audit(db, access, { type, target: { kind: 'connection', id }, app_id: access.app.id, before }, now);
}
