// Owns the answer to a change of one person: their entry as the members list shows it.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type MemberEntry, presentMember } from './contract.ts';
import { monthNumberOf, monthParityOf } from './directory-refresh.ts';
import { getDirectoryRow } from './store.ts';

export async function getMemberEntry(db: Db, access: WorkspaceAccess, email: string, now: Date): Promise<MemberEntry> {
  const month = monthNumberOf(now);
  const { default_limit, ...row } = await getDirectoryRow(db, access, email, { parity: monthParityOf(month), month });
  return presentMember(row, access, default_limit, now);
}
