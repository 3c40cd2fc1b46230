// How many credits were used on each day, by person, app or operation (docs/api/credits.md#usage-by-day).
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import { startOfMonth } from '../../core/credits/pool.ts';
import { withNotes } from '../../kit/http/answer.ts';
import { ValidationError } from '../../kit/http/faults.ts';
import type { Db } from '../../tables.ts';
import { maxUsageDays, type UsageQuery } from './contract.ts';
import { sumUsage } from './store.ts';

const maxBuckets = 10_000;
const dayMs = 24 * 60 * 60 * 1000;

export async function getCreditUsage(db: Db, access: WorkspaceAccess, query: UsageQuery, now: Date) {
  const to = query.to ?? now;
  const from = query.from ?? startOfMonth(to);
  if (to.getTime() - from.getTime() > maxUsageDays * dayMs) throw tooLong();
  const found = await sumUsage(db, access, query, { from, to, limit: maxBuckets + 1 });
  const answer = { from: from.toISOString(), to: to.toISOString(), items: found.slice(0, maxBuckets) };
  return withNotes(answer, found.length > maxBuckets ? { truncated: true } : {});
}

const tooLong = () =>
  new ValidationError([
    { loc: ['query', 'from'], msg: `must be at most ${maxUsageDays} days before the end`, type: 'value_error' },
  ]);
