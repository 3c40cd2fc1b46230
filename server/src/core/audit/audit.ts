// Writes audit entries (docs/api/audit-log.md). Each entry is inserted in the same transaction as the change it
// records. The `audit` feature adds entries to the chain later, so inserting one takes no lock.
import { prepared } from '../../kit/db/database.ts';
import { sendWithCommit } from '../../kit/db/send.ts';
import { newId } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import type {
  AnyCaller,
  AppUserSelfAccess,
  AppVisitor,
  DataAccess,
  SelfAccess,
  Visitor,
  WorkspaceAccess,
} from '../auth/proofs.ts';
import type { AuditType } from './types.ts';

export interface AuditedChange {
  readonly type: AuditType;
  readonly target: { readonly kind: string; readonly id: string };
  readonly app_id?: string | null;
  /** The changed fields before and after the change. They must not contain secrets or record contents. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Replaces a value that must not appear in the log. */
export const redacted = { changed: true } as const;

/** Records a change that the proof's caller made in a workspace. */
export const audit = (
  db: Db,
  access: WorkspaceAccess | DataAccess | AppUserSelfAccess,
  change: AuditedChange,
  now: Date,
): Promise<void> =>
  insertEntry(
    db,
    { ...describeCaller(access.caller), workspace_id: access.workspace_id, outcome: 'done' },
    change,
    now,
  );

/**
 * Records a change to a person's own account. The change belongs to no workspace, so its entry is added to the
 * installation's chain.
 */
export const auditSelf = (db: Db, access: SelfAccess, change: AuditedChange, now: Date): Promise<void> =>
  insertEntry(db, { ...describeCaller(access.caller), workspace_id: null, outcome: 'done' }, change, now);

/**
 * Records a change that an operator made, in the installation's chain. A change to a workspace is also recorded in the
 * workspace's chain, where members can see it.
 */
export async function auditOperator(
  db: Db,
  access: SelfAccess,
  workspace_id: string | null,
  change: AuditedChange,
  now: Date,
): Promise<void> {
  const context = describeCaller(access.caller);
  const actor = { ...context.actor, kind: 'operator' as const };
  for (const chain of new Set([workspace_id, null])) {
    await insertEntry(db, { ...context, actor, workspace_id: chain, outcome: 'done' }, change, now);
  }
}

/** Records an action on an open route: an attempt to sign in or to accept an invitation. */
export const auditVisitor = (
  db: Db,
  {
    visitor,
    person,
    change,
    workspace_id = null,
  }: {
    readonly visitor: Visitor;
    readonly person: { id: string; email: string } | null;
    readonly change: AuditedChange;
    readonly workspace_id?: string | null;
  },
  now: Date,
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

/** Records an app user's attempt to sign in, in the workspace's chain. */
export const auditAppVisitor = (
  db: Db,
  visitor: AppVisitor,
  user: { id: string; email: string } | null,
  change: Omit<AuditedChange, 'app_id'>,
  now: Date,
): Promise<void> =>
  insertEntry(
    db,
    {
      actor: user === null ? anonymous : { kind: 'app_user', id: user.id, email: user.email },
      credential_id: null,
      request_id: visitor.request_id,
      ip: visitor.ip,
      workspace_id: visitor.workspace_id,
      outcome: 'done',
    },
    { ...change, app_id: visitor.app.id },
    now,
  );

/** Records several earlier changes in one entry. The author was stored when the changes were made. */
export const auditAfterwards = (
  db: Db,
  author: { workspace_id: string; credential_id: string; person: { id: string; email: string } | null },
  change: AuditedChange,
  occurredAt: Date,
): Promise<void> => {
  const { workspace_id, credential_id, person } = author;
  const actor =
    person === null
      ? ({ kind: 'workspace_key', id: credential_id, email: null } as const)
      : ({ kind: 'user', id: person.id, email: person.email } as const);
  const context = { actor, credential_id, request_id: 'service', ip: null, workspace_id, outcome: 'done' } as const;
  return insertEntry(db, context, change, occurredAt);
};

/** Records a change that a job or a command made. */
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

/** Records a request that was refused because of a role, a plan or owner protection. */
export const auditRefusal = (
  db: Db,
  caller: AnyCaller,
  workspace_id: string | null,
  change: AuditedChange,
  now: Date,
): Promise<void> => insertEntry(db, { ...describeCaller(caller), workspace_id, outcome: 'refused' }, change, now);

// Prepared, because it runs on every change.
const insertPending = prepared<never, [id: string, workspaceId: string | null, entry: string]>(
  'insert audit entry',
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

const describeCaller = (caller: AnyCaller) => ({
  actor: toActor(caller),
  credential_id: caller.credential_id,
  request_id: caller.request_id,
  ip: caller.ip,
});

function toActor({ kind, credential_id, user_id, app_user_id, email }: AnyCaller): EntryContext['actor'] {
  if (kind === 'anonymous') return anonymous;
  if (kind === 'workspace_key') return { kind, id: credential_id, email: null };
  if (kind === 'app_user_token') return { kind: 'app_user', id: app_user_id, email };
  return { kind: 'user', id: user_id, email };
}

async function insertEntry(db: Db, context: EntryContext, change: AuditedChange, now: Date): Promise<void> {
  const { workspace_id, ...rest } = context;
  const { app_id = null, before = null, after = null, type, target } = change;
  const id = newId();
  const entry = { id, occurred_at: now.toISOString(), type, ...rest, app_id, target, before, after };
  await sendWithCommit(db, insertPending.query(id, workspace_id, JSON.stringify(entry)));
}
