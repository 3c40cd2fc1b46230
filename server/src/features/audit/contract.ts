// The request and response schemas for the audit log (docs/api/audit-log.md).
import { z } from 'zod';
import { workspaceAuditTypes } from '../../core/audit/types.ts';
import {
  answer,
  count,
  described,
  id,
  pageQuery,
  parameter,
  queryInteger,
  queryTime,
  queryWordsOf,
  strictQuery,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { EntryContent } from './chain.ts';

export const AuditEntry = answer('AuditEntry', {
  id: described(id, 'The id of the entry, created with the change.', '0198c20a-6f28-7b14-8c9d-05a7e3f4d612'),
  sequence: described(
    count.nullable(),
    "The position in the workspace's chain, without gaps; null until the entry is sealed, usually within 2 seconds.",
    42,
  ),
  occurred_at: described(timestamp, 'The time of the change.', '2026-11-15T09:30:00.000Z'),
  type: described(
    z.string(),
    'What happened, such as `member.role_changed`; a refusal has the name of the operation and `.refused`.',
    'member.role_changed',
  ),
  actor: described(
    answer('AuditActor', {
      kind: described(
        z.enum(['user', 'app_user', 'workspace_key', 'service', 'operator', 'anonymous']),
        'The kind of caller who made the change; `service` is a job or the command line.',
      ),
      id: described(
        z.string().nullable(),
        'The id of the person, app user or workspace key; null for the service and for anonymous callers.',
        '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605',
      ),
      email: described(
        z.string().nullable(),
        'The e-mail address that the actor had at the time; null if the actor is not a person.',
        'ada@example.com',
      ),
    }),
    'The caller who made the change, or tried to.',
  ),
  credential_id: described(
    z.string().nullable(),
    'The id of the token, key or session used; null for the service and for callers who were not signed in.',
    '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  ),
  request_id: described(
    z.string(),
    'The id of the request, also in the header `X-Request-Id` of its response; `service` for changes without a request.',
    '5c2b0f0e-0f5b-4c53-9d0e-9c5c2a2f7a10',
  ),
  ip: described(
    z.string().nullable(),
    'The IP address of the caller; null for changes that the service made or recorded later.',
    '203.0.113.7',
  ),
  app_id: described(
    id.nullable(),
    'The id of the app or agent that the change is about; null if it is about none.',
    '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  ),
  target: described(
    answer('AuditTarget', {
      kind: described(
        z.string(),
        'The kind of object that was changed, such as `member`, `app` or `webhook`.',
        'member',
      ),
      id: described(
        z.string(),
        'The id of the changed object; for entities and secrets, the name.',
        '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
      ),
    }),
    'The object that was changed.',
  ),
  before: described(z.unknown(), 'The changed fields before the change; `{"changed": true}` replaces a secret.', {
    email: 'grace@example.com',
    role: 'viewer',
  }),
  after: described(z.unknown(), 'The changed fields after the change; `{"changed": true}` replaces a secret.', {
    email: 'grace@example.com',
    role: 'editor',
  }),
  outcome: described(
    z.enum(['done', 'refused']),
    'Whether the change was made, or refused because of a missing role, the plan or a protected owner.',
  ),
  prev_hash: described(
    z.string().nullable(),
    'The hash of the previous entry, as 64 hexadecimal digits; null until the entry is sealed.',
    '9f3c58e0a1d7426bb08e35f9c2a46d71e50b83c9f4d6172a8ce03b5d94f7a162',
  ),
  hash: described(
    z.string().nullable(),
    'The hash of the entry including `prev_hash`, as 64 hexadecimal digits; null until the entry is sealed.',
    '41d0c7a95be2f6038d1c4a7e90b3f582d6e1478a0c93b5f2e84d17a6c05b9f3e',
  ),
});

/** Unknown filters are rejected, because ignoring them would return entries that the caller did not ask for. */
export const auditQuery = (isOperation: (name: string) => boolean) =>
  strictQuery({
    ...pageQuery,
    type: parameter(
      queryWordsOf((word): word is string => isTypeFilter(word, isOperation), expectedTypes).optional(),
      `Comma-separated list of: ${expectedTypes}.`,
      'member.*,app.created',
    ),
    actor_email: parameter(
      text(0, 320).optional(),
      'Only entries whose actor had this e-mail address.',
      'ada@example.com',
    ),
    app_id: described(
      text(0, 64).optional(),
      'Only entries about this app or agent.',
      '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
    ),
    outcome: parameter(
      z.enum(['done', 'refused']).optional(),
      'Only changes that were made, or only those that were refused.',
    ),
    from: described(
      queryTime.optional(),
      'Only entries whose `occurred_at` is this time or later; UTC if the time has no zone.',
      '2026-11-14T00:00:00.000Z',
    ),
    to: described(
      queryTime.optional(),
      'Only entries whose `occurred_at` is this time or earlier; UTC if the time has no zone.',
      '2026-11-15T00:00:00.000Z',
    ),
    after_sequence: parameter(
      queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
      'Only sealed entries with a greater sequence.',
      41,
    ),
  });
export type AuditQuery = z.output<ReturnType<typeof auditQuery>>;

const expectedTypes = `${workspaceAuditTypes.join(', ')}; an operation name followed by \`.refused\`, such as deleteApp.refused; or a prefix followed by \`*\`, such as app.*`;

/** Accepts `app.created`, `app.*` and `deleteApp.refused`. */
function isTypeFilter(word: string, isOperation: (name: string) => boolean): boolean {
  if (word.endsWith('.*')) return workspaceAuditTypes.some((type) => type.startsWith(word.slice(0, -1)));
  if (word.endsWith('.refused')) return isOperation(word.slice(0, -'.refused'.length));
  return workspaceAuditTypes.some((type) => type === word);
}

export const ExportQuery = strictQuery({
  from_sequence: parameter(
    queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
    'The sequence of the first entry to export, inclusive.',
    1,
  ),
  to_sequence: parameter(
    queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
    'The sequence of the last entry to export, inclusive.',
    42,
  ),
});

export const VerifyQuery = strictQuery({
  from_sequence: described(
    queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
    'The sequence at which to start; by default at the first entry that is kept.',
    1,
  ),
});

export const Verification = answer('VerifiedAuditLog', {
  valid: described(z.boolean(), 'Whether all entries that were checked are intact.'),
  checked: described(count, 'How many entries were checked and are intact, at most 100,000 per request.', 42),
  first_sequence: described(
    count.nullable(),
    'The sequence of the first entry that was checked and is intact; null if there was nothing to check.',
    1,
  ),
  last_sequence: described(
    count.nullable(),
    'The sequence of the last intact entry, after which to continue if the chain is longer; null if there was nothing to check.',
    42,
  ),
  head_hash: described(
    z.string().nullable(),
    'The hash of the last entry that was checked; null if the chain is broken.',
    '41d0c7a95be2f6038d1c4a7e90b3f582d6e1478a0c93b5f2e84d17a6c05b9f3e',
  ),
  unsealed: described(count, 'How many entries are not sealed yet and were not checked.', 0),
  broken_at: described(
    count.nullable(),
    'The sequence of the first entry that was changed, removed or moved; null if the chain is intact.',
    null,
  ),
});

/** A stored entry, sealed or pending. Pending entries have no place in the chain yet. */
export interface AuditRow {
  id: string;
  sequence: number | null;
  entry: EntryContent;
  prev_hash: string | null;
  hash: string | null;
}

export const presentEntry = ({ entry, sequence, prev_hash, hash }: Omit<AuditRow, 'id'>) =>
  ({ ...entry, sequence, prev_hash, hash }) as z.input<typeof AuditEntry>;
