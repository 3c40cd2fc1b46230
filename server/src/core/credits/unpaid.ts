// Bounds the work of the operator's language model that nobody is charged for: what is free, and operations that are
// refunded because they failed after they had called the model. Each kind has a number a day, in UTC.
import { sql } from 'kysely';
import { prepared } from '../../kit/db/database.ts';
import type { Db, Tables } from '../../tables.ts';
import { rateLimited, toWholeSeconds } from '../auth/limits.ts';

export interface UnpaidWork {
  readonly workspace_id: string;
  readonly kind: Tables['unpaid_model_work']['kind'];
  /** The workspace or the app that the number is for. */
  readonly subject_id: string;
}

/** How often a day per app, except for explanations, which are counted per workspace only. */
export const maxUnpaidADay: Readonly<Record<UnpaidWork['kind'], number>> = {
  explanation: 100,
  /** Tests, search themes and texts of ads that the model was asked for and did not write. */
  suggestion: 20,
  test_run: 3,
};

/** How often a day for all apps of a workspace together, because a workspace can create any number of apps. */
export const maxUnpaidOfWorkspaceADay: typeof maxUnpaidADay = { explanation: 100, suggestion: 100, test_run: 15 };

// Example with at most 3 a day: (yesterday, 3) → (today, 1) → (today, 2) → (today, 3) → no row, so nothing is left.
const countOne = prepared<object, [workspaceId: string, kind: string, subjectId: string, now: Date, max: number]>(
  'count unpaid work of the model',
  `insert into unpaid_model_work as u (workspace_id, kind, subject_id, day, times)
   values ($1, $2, $3, ($4::timestamptz at time zone 'UTC')::date, 1)
   on conflict (workspace_id, kind, subject_id) do update
   set day = excluded.day, times = case when u.day = excluded.day then u.times + 1 else 1 end
   where u.workspace_id = $1 and (u.day <> excluded.day or u.times < $5::integer)
   returning 1`,
);

/**
 * Counts one work of the model that nobody pays for, of the subject and of its workspace. Returns false if there were as
 * many today as there may be of either. The count serialises concurrent calls. Lock order: before reservations and pools.
 */
export async function countUnpaid(db: Db, work: UnpaidWork, now: Date): Promise<boolean> {
  const { workspace_id, kind, subject_id } = work;
  const ofWorkspace = await countOne(db, workspace_id, kind, workspace_id, now, maxUnpaidOfWorkspaceADay[kind]);
  if (ofWorkspace.length === 0) return false;
  if (subject_id === workspace_id) return true;
  if ((await countOne(db, workspace_id, kind, subject_id, now, maxUnpaidADay[kind])).length > 0) return true;
  await uncountUnpaid(db, { ...work, subject_id: workspace_id }, now);
  return false;
}

/**
 * Throws 429 if the app, or its workspace, has had as many requests for suggestions today as it may have that the model
 * did not answer usably.
 */
export async function requireSuggestionsLeft(
  db: Db,
  { workspace_id, app }: { readonly workspace_id: string; readonly app: { readonly id: string } },
  now: Date,
): Promise<void> {
  const { rows } = await sql<{ subject_id: string; times: number }>`select subject_id, times from unpaid_model_work
    where workspace_id = ${workspace_id} and kind = 'suggestion' and subject_id in (${app.id}, ${workspace_id})
      and day = (${now}::timestamptz at time zone 'UTC')::date`.execute(db);
  const times = new Map(rows.map((row) => [row.subject_id, row.times]));
  const refuse = (subject: string, max: number) => {
    const message = `The language model gave no usable answer for ${subject} ${max} times today. Try again tomorrow.`;
    const msToMidnight = dayMs - (now.getTime() % dayMs);
    return rateLimited(message, max, dayMs / 1000, toWholeSeconds(msToMidnight));
  };
  const [max, maxOfWorkspace] = [maxUnpaidADay.suggestion, maxUnpaidOfWorkspaceADay.suggestion];
  if ((times.get(app.id) ?? 0) >= max) throw refuse('this app', max);
  if ((times.get(workspace_id) ?? 0) >= maxOfWorkspace) throw refuse('this workspace', maxOfWorkspace);
}

const dayMs = 24 * 60 * 60_000;

/** Takes back a count of today, because the model did not work after all. */
export async function uncountUnpaid(db: Db, { workspace_id, kind, subject_id }: UnpaidWork, now: Date): Promise<void> {
  await sql`update unpaid_model_work set times = times - 1
    where workspace_id = ${workspace_id} and kind = ${kind} and subject_id in (${subject_id}, ${workspace_id}) and times > 0
      and day = (${now}::timestamptz at time zone 'UTC')::date`.execute(db);
}

/** Removes the numbers of days before yesterday, and returns how many. */
export async function removeOldUnpaid(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from unpaid_model_work
    where (workspace_id, kind, subject_id) in (select workspace_id, kind, subject_id from unpaid_model_work
      where day < (${now}::timestamptz at time zone 'UTC')::date - 1 limit 1000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
