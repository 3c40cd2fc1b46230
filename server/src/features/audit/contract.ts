// Owns the schemas of the audit log (docs/api/audit-log.md).
import { z } from 'zod';
import { answer, count, pageQuery, query, queryInteger, queryTime, text, timestamp } from '../../kit/http/shapes.ts';
import type { EntryContent } from './chain.ts';

export const AuditEntry = answer('AuditEntry', {
  id: z.string(),
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
  app_id: z.string().nullable(),
  target: answer('AuditTarget', { kind: z.string(), id: z.string() }),
  before: z.unknown(),
  after: z.unknown(),
  outcome: z.enum(['done', 'refused']),
  prev_hash: z.string().nullable(),
  hash: z.string().nullable(),
});

export const AuditQuery = query({
  ...pageQuery,
  type: text(0, 1000)
    .optional()
    .meta({ description: 'Comma-separated types. `app.*` matches all types that start with `app.`.' }),
  actor_email: text(0, 320).optional(),
  app_id: text(0, 64).optional(),
  outcome: z.enum(['done', 'refused']).optional(),
  from: queryTime.optional(),
  to: queryTime.optional(),
  after_sequence: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
});
export type AuditQuery = z.output<typeof AuditQuery>;

export const ExportQuery = query({
  from_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
  to_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
});

export const VerifyQuery = query({ from_sequence: queryInteger(1, Number.MAX_SAFE_INTEGER).optional() });

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
