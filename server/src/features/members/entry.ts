// Owns one person's entry: the answer to a change of theirs, as the list shows them.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type MemberEntry, presentMember } from './contract.ts';
import { columnOf, monthOf } from './directory-refresh.ts';
import { getDirectoryRow } from './store.ts';

export async function getEntry(db: Db, access: WorkspaceAccess, email: string, now: Date): Promise<MemberEntry> {
  const month = monthOf(now);
  const { default_limit, ...row } = await getDirectoryRow(db, access, email, { column: columnOf(month), month });
  return presentMember(row, access, default_limit, now);
}
