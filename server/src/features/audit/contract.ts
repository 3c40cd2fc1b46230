// Owns the schemas of the audit log (docs/api/audit-log.md).
import { z } from 'zod';
import { workspaceAuditTypes } from '../../core/audit/types.ts';
import {
  answer,
  count,
  id,
  pageQuery,
  queryInteger,
  queryTime,
  queryWordsOf,
  strictQuery,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { EntryContent } from './chain.ts';

export const AuditEntry = answer('AuditEntry', {
  id,
  sequence: count.nullable().meta({
    description:
      "The place in the workspace's chain, without gaps. Null until the entry is sealed, usually within 2 seconds.",
  }),
  occurred_at: timestamp,
  type: z.string(),
  actor: answer('AuditActor', {
    kind: z.enum(['user', 'app_user', 'workspace_key', 'service', 'operator', 'anonymous']),
    id: z.string().nullable(),
    email: z.string().nullable(),
  }),
  credential_id: z.string().nullable(),
  request_id: z.string(),
  ip: z.string().nullable(),
  app_id: id.nullable(),
  target: answer('AuditTarget', { kind: z.string(), id: z.string() }),
  before: z.unknown(),
  after: z.unknown(),
  outcome: z.enum(['done', 'refused']),
  prev_hash: z.string().nullable(),
  hash: z.string().nullable(),
});

/** Strict, because a filter without effect would show entries that were not asked for. */
export const auditQuery = (isOperation: (name: string) => boolean) =>
  strictQuery({
    ...pageQuery,
    type: queryWordsOf((word): word is string => isTypeFilter(word, isOperation), expectedTypes).optional(),
    actor_email: text(0, 320).optional(),
    app_id: text(0, 64).optional(),
    outcome: z.enum(['done', 'refused']).optional(),
    from: queryTime.optional(),
    to: queryTime.optional(),
    after_sequence: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
  });
export type AuditQuery = z.output<ReturnType<typeof auditQuery>>;

const expectedTypes = `${workspaceAuditTypes.join(', ')}; the name of an operation and \`.refused\`, such as deleteApp.refused; or a prefix and \`*\`, such as app.*`;

/** `app.created`, `app.*` or `deleteApp.refused`. */
function isTypeFilter(word: string, isOperation: (name: string) => boolean): boolean {
  if (word.endsWith('.*')) return workspaceAuditTypes.some((type) => type.startsWith(word.slice(0, -1)));
  if (word.endsWith('.refused')) return isOperation(word.slice(0, -'.refused'.length));
  return workspaceAuditTypes.some((type) => type === word);
}

export const ExportQuery = strictQuery({
  from_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
  to_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
});

export const VerifyQuery = strictQuery({ from_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional() });

export const Verification = answer('VerifiedAuditLog', {
  valid: z.boolean(),
  checked: count,
  first_sequence: count.nullable(),
  last_sequence: count.nullable(),
  head_hash: z.string().nullable(),
  unsealed: count,
  broken_at: count.nullable(),
});

/** An entry as stored, sealed or pending. A pending entry has no place in the chain yet. */
export interface AuditRow {
  id: string;
  sequence: number | null;
  entry: EntryContent;
  prev_hash: string | null;
  hash: string | null;
}

export const presentEntry = ({ entry, sequence, prev_hash, hash }: Omit<AuditRow, 'id'>) =>
  ({ ...entry, sequence, prev_hash, hash }) as z.input<typeof AuditEntry>;
