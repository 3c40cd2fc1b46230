// The response to changing one person, which is their entry in the members list.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { sendWithCommitForRows } from '../../kit/db/send.ts';
import type { Db } from '../../tables.ts';
import { type MemberEntry, presentMember } from './contract.ts';
import { monthNumberOf, monthParityOf } from './directory-refresh.ts';
import { selectDirectoryRow } from './store.ts';

/**
 * Must be called after the change, in the same transaction. After the commit, call the returned function to get the
 * entry.
 */
export async function requestEntryWithCommit(
  db: Db,
  access: WorkspaceAccess,
  email: string,
  now: Date,
): Promise<() => MemberEntry> {
  const month = monthNumberOf(now);
  const select = selectDirectoryRow(db, access, email, { parity: monthParityOf(month), month });
  const sent = await sendWithCommitForRows(db, select);
  return () => {
    const [found] = sent.rows;
    if (found === undefined) throw new Error('a person who was just changed is not in the member directory');
    const { default_limit, ...row } = found;
    return presentMember(row, access, default_limit, now);
  };
}
