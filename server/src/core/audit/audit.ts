// Owns the audit writer: one insert in the change's own transaction, unchained, so that it takes no lock and no turn
// (contract §2.8). The sealer gives entries their place in the chain; the feature `audit` reads them.
import { prepared } from '../../kit/db/database.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type { AnyCaller, DataAccess, SelfAccess, Visitor, WorkspaceAccess } from '../auth/proofs.ts';

export interface AuditedChange {
  /** As the contract lists them: `folder.created`, `token.revoked`, … */
  readonly type: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly app_id?: string | null;
  /** What it was and what it is: the changed fields, never a secret or a record's contents. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/** What stands in place of a value that must not be in the log. */
export const redacted = { changed: true } as const;

/** Records a change of a workspace's state, by whoever the proof names. */
export const audit = (db: Db, access: WorkspaceAccess | DataAccess, change: AuditedChange, now: Date): Promise<void> =>
  insertEntry(
    db,
    { ...describeCaller(access.caller), workspace_id: access.workspace_id, outcome: 'done' },
    change,
    now,
  );

/** Records a change of a person's own things, in the installation's chain: it belongs to no workspace. */
export const auditSelf = (db: Db, access: SelfAccess, change: AuditedChange, now: Date): Promise<void> =>
  insertEntry(db, { ...describeCaller(access.caller), workspace_id: null, outcome: 'done' }, change, now);

/** Records what an operator did to a workspace: in its own chain, for its people to see, and in the installation's. */
export async function auditOperator(
  db: Db,
  access: SelfAccess,
  workspace_id: string,
  change: AuditedChange,
  now: Date,
): Promise<void> {
  const circumstances = describeCaller(access.caller);
  const actor = { ...circumstances.actor, kind: 'operator' as const };
  for (const chain of [workspace_id, null]) {
    await insertEntry(db, { ...circumstances, actor, workspace_id: chain, outcome: 'done' }, change, now);
  }
}

/** Records what someone did who was not signed in yet, or failed to. */
export const auditVisitor = (
  db: Db,
  visitor: Visitor,
  person: { id: string; email: string } | null,
  change: AuditedChange,
  now: Date,
  workspace_id: string | null = null,
): Promise<void> =>
  insertEntry(
    db,
    {
      actor: person === null ? anonymous : { kind: 'user', id: person.id, email: person.email },
      credential_id: null,
      request_id: visitor.request_id,
      ip: visitor.ip,
      workspace_id,
      outcome: 'done',
    },
    change,
    now,
  );

/** Records what the service or the command line did by itself. */
export const auditService = (db: Db, workspace_id: string | null, change: AuditedChange, now: Date): Promise<void> =>
  insertEntry(
    db,
    {
      actor: { kind: 'service', id: null, email: null },
      credential_id: null,
      request_id: 'service',
      ip: null,
      workspace_id,
      outcome: 'done',
    },
    change,
    now,
  );

/** Records a refusal by role, plan or owner protection. */
export const auditRefusal = (
  db: Db,
  asker: AnyCaller,
  workspace_id: string | null,
  change: AuditedChange,
  now: Date,
): Promise<void> => insertEntry(db, { ...describeCaller(asker), workspace_id, outcome: 'refused' }, change, now);

// Every change pays for this one, so it is prepared.
const insertPending = prepared<never, [id: string, workspaceId: string | null, entry: string]>(
  'audit_insert',
  'insert into audit_pending (id, workspace_id, entry) values ($1, $2, $3)',
);

interface EntryContext {
  readonly actor: {
    kind: 'user' | 'app_user' | 'workspace_key' | 'service' | 'operator' | 'anonymous';
    id: string | null;
    email: string | null;
  };
  readonly credential_id: string | null;
  readonly request_id: string;
  readonly ip: string | null;
  readonly workspace_id: string | null;
  readonly outcome: 'done' | 'refused';
}

const anonymous = { kind: 'anonymous', id: null, email: null } as const;

const describeCaller = (asker: AnyCaller) => ({
  actor: actorOf(asker),
  credential_id: asker.credential_id,
  request_id: asker.request_id,
  ip: asker.ip,
});

function actorOf({ kind, credential_id, user_id, app_user_id, email }: AnyCaller): EntryContext['actor'] {
  if (kind === 'anonymous') return anonymous;
  if (kind === 'workspace_key') return { kind, id: credential_id, email: null };
  if (kind === 'app_user_token') return { kind: 'app_user', id: app_user_id, email };
  return { kind: 'user', id: user_id, email };
}

async function insertEntry(db: Db, circumstances: EntryContext, change: AuditedChange, now: Date): Promise<void> {
  const { workspace_id, ...rest } = circumstances;
  const { app_id = null, before = null, after = null, type, target } = change;
  const id = newId();
  const entry = { id, occurred_at: now.toISOString(), type, ...rest, app_id, target, before, after };
  await insertPending(db, id, workspace_id, JSON.stringify(entry));
}
