// Verifies an export of the audit log: its hashes form a chain, so an entry that was changed, removed or inserted breaks
// it (docs/guides/verifying-the-audit-log.md).
import type { AuditEntry } from './generated/schemas.ts';

/** An entry's number and hash, as they were noted earlier. */
export interface NotedEntry {
  readonly sequence: number;
  readonly hash: string;
}

export type AuditVerdict =
  | { readonly whole: true; readonly entries: number; readonly last: NotedEntry | undefined }
  | { readonly whole: false; readonly brokenAt: number; readonly reason: string };

const zeros = '0'.repeat(64);

/**
 * Verifies that the entries are a whole part of the log. With `after`, also that the log still contains the noted entry
 * unchanged. Export from its number on: then there is always an entry, and an export without one shows that it is
 * missing. An export that begins directly after it is verified too, unless it is empty.
 */
export async function verifyAuditChain(
  entries: AsyncIterable<AuditEntry> | Iterable<AuditEntry>,
  { after }: { readonly after?: NotedEntry } = {},
): Promise<AuditVerdict> {
  let last: NotedEntry | undefined;
  let count = 0;
  for await (const entry of entries) {
    const reason = last === undefined ? judgeFirst(entry, after) : judgeNext(entry, last);
    const sequence = entry.sequence ?? 0;
    if (reason !== undefined) return { whole: false, brokenAt: sequence, reason };
    const hash = await hashEntry(entry);
    if (hash !== entry.hash) return { whole: false, brokenAt: sequence, reason: 'the entry was changed' };
    last = { sequence, hash };
    count += 1;
  }
  if (last === undefined && after !== undefined)
    return {
      whole: false,
      brokenAt: after.sequence,
      reason: 'the export is empty: the noted entry is missing, or was not exported',
    };
  return { whole: true, entries: count, last };
}

function judgeFirst({ sequence, prev_hash, hash }: AuditEntry, after: NotedEntry | undefined): string | undefined {
  if (sequence === 1 && prev_hash !== zeros) return 'the chain does not begin with zeros';
  if (after === undefined) return undefined;
  if (sequence === after.sequence) return hash === after.hash ? undefined : 'the noted entry was changed';
  if (sequence === after.sequence + 1) return prev_hash === after.hash ? undefined : 'the noted entry was changed';
  return 'the export does not begin at the noted entry';
}

function judgeNext({ sequence, prev_hash }: AuditEntry, last: NotedEntry): string | undefined {
  if (sequence !== last.sequence + 1) return 'entries are missing or were inserted';
  return prev_hash === last.hash ? undefined : 'the entry does not follow the one before it';
}

/** The hash of the previous hash and the entry without its own, as canonical JSON (RFC 8785). */
async function hashEntry({ hash: _, ...entry }: AuditEntry): Promise<string> {
  const bytes = new TextEncoder().encode(`${entry.prev_hash}${toCanonicalJson(entry)}`);
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Numbers and texts are written by JSON.stringify as RFC 8785 asks; only the order of names is left. */
function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toCanonicalJson(member)}`).join(',')}}`;
}
