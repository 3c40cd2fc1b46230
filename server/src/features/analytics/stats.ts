// `getUserStats`, which counts an app's users who are active, present now, or were last seen some time ago.
import type { AppAccess } from '../../core/auth/proofs.ts';
import { readInOneSnapshot } from '../../kit/db/database.ts';
import { withNotes } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { countUsersSeen } from './store/stats.ts';
import { eventUnits, heartbeatUnits, splitRange } from './time-range.ts';

const day = 24 * 60 * 60 * 1000;
const maxReadMs = 2_000;
const liveMs = 120_000;

type CountName = 'active_users' | 'live_users' | 'inactive_7d' | 'inactive_30d';
type Counts = Record<CountName, number>;
const names = ['active_users', 'live_users', 'inactive_7d', 'inactive_30d'] as const satisfies CountName[];

/**
 * All counts come from one snapshot, so a user who is seen in the meantime is counted exactly once. If a count can't be
 * read, `onUnreadable` is called with its name and the error.
 */
export async function getUserStats(
  db: Db,
  access: AppAccess,
  onUnreadable: (count: CountName, error: unknown) => void,
  now: Date,
) {
  const counts: Partial<Counts> = {};
  try {
    await readInOneSnapshot(db, maxReadMs, async (attempt) => {
      for (const name of names)
        await attempt(
          async (db) => {
            counts[name] = await countOne(db, access.app.id, name, now);
          },
          (error) => onUnreadable(name, error),
        );
    });
  } catch (error) {
    // No connection was available, or it was lost.
    for (const name of names) if (counts[name] === undefined) onUnreadable(name, error);
  }
  return withNotes(
    { active_users: 0, live_users: 0, inactive_7d: 0, inactive_30d: 0, ...counts },
    { partial: names.filter((name) => counts[name] === undefined), asOf: now },
  );
}

/**
 * Times are stored in milliseconds, so "less than 7 days ago" means "at least one millisecond after 7 days ago". Events
 * may be dated a few minutes in the future.
 */
function countOne(db: Db, app_id: string, name: CountName, now: Date): Promise<number> {
  const at = now.getTime();
  const ahead = Math.ceil((at + day) / day) * day; // midnight, so no minutes are left over
  const byEvent = (from: number, to: number) => countUsersSeen(db, app_id, 'event', splitRange(from, to, eventUnits));
  switch (name) {
    case 'active_users':
      return byEvent(at - 7 * day + 1, ahead);
    case 'inactive_7d':
      return byEvent(at - 30 * day, at - 7 * day + 1);
    case 'inactive_30d':
      return byEvent(at - 60 * day, at - 30 * day);
    case 'live_users': {
      const end = Math.ceil((at + day) / 1_000) * 1_000;
      return countUsersSeen(db, app_id, 'heartbeat', splitRange(at - liveMs, end, heartbeatUnits));
    }
  }
}
