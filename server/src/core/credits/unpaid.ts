// Bounds the work of the operator's language model that nobody is charged for: what is free, and operations that are
// not charged because they failed after they had called the model. Each kind has a number a day, in UTC.
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
  /** Tests, search themes and texts of ads that the model was asked for, and that were not charged for yet. */
  suggestion: 20,
  test_run: 3,
  /** Launches whose texts the model was asked for. */
  campaign_text: 20,
};

/** How often a day for all apps of a workspace together, because a workspace can create any number of apps. */
export const maxUnpaidOfWorkspaceADay: typeof maxUnpaidADay = {
  explanation: 100,
  suggestion: 100,
  test_run: 15,
  campaign_text: 100,
};

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

type App = Pick<Tables['apps'], 'workspace_id' | 'id'>;

/**
 * Counts a request for suggestions, before the model is asked for them. Throws 429 if the app, or its workspace, has used
 * up its number of today. Take it back where the work is charged for, or if the model has not worked.
 */
export async function countSuggestion(db: Db, app: App, now: Date): Promise<void> {
  if (await countUnpaid(db, toSuggestion(app), now)) return;
  const { subject, max } = await findUsedUp(db, toSuggestion(app), now);
  throw rateLimited(
    `The language model gave no usable answer for ${subject} ${max} times today, requests in progress included. Try again tomorrow.`,
    max,
    dayMs / 1000,
    toTomorrow(now),
  );
}

/**
 * Counts a launch whose texts the model writes, before the model is asked. Throws 429 if the app, or its workspace, has
 * used up its number of today. Take it back if the model has not worked.
 */
export async function countCampaignText(db: Db, app: App, now: Date): Promise<void> {
  if (await countUnpaid(db, toCampaignText(app), now)) return;
  const { subject, max } = await findUsedUp(db, toCampaignText(app), now);
  throw rateLimited(
    `The language model wrote ad copy for campaigns of ${subject} ${max} times today. Provide the headlines and descriptions yourself, or try again tomorrow.`,
    max,
    dayMs / 1000,
    toTomorrow(now),
  );
}

/** Which number is used up: the app's or that of its workspace. */
async function findUsedUp(db: Db, { workspace_id, kind, subject_id }: UnpaidWork, now: Date) {
  const { rows } = await sql<{ times: number }>`select times from unpaid_model_work
    where workspace_id = ${workspace_id} and kind = ${kind} and subject_id = ${subject_id}
      and day = (${now}::timestamptz at time zone 'UTC')::date`.execute(db);
  return (rows[0]?.times ?? 0) >= maxUnpaidADay[kind]
    ? { subject: 'this app', max: maxUnpaidADay[kind] }
    : { subject: 'this workspace', max: maxUnpaidOfWorkspaceADay[kind] };
}

const toTomorrow = (now: Date): number => toWholeSeconds(dayMs - (now.getTime() % dayMs));

const dayMs = 24 * 60 * 60_000;

/** Takes back a suggestion that was counted at `countedAt`. Call this before you lock reservations or pools. */
export const uncountSuggestion = (db: Db, app: App, countedAt: Date): Promise<void> =>
  uncountUnpaid(db, toSuggestion(app), countedAt);

const toSuggestion = ({ workspace_id, id }: App): UnpaidWork => ({ workspace_id, kind: 'suggestion', subject_id: id });

/** Takes back a launch that was counted at `countedAt`. */
export const uncountCampaignText = (db: Db, app: App, countedAt: Date): Promise<void> =>
  uncountUnpaid(db, toCampaignText(app), countedAt);

const toCampaignText = ({ workspace_id, id }: App): UnpaidWork => ({
  workspace_id,
  kind: 'campaign_text',
  subject_id: id,
});

/**
 * Takes back work that was counted at `countedAt`, because it was charged for, or because the model did not work after
 * all. Locks the workspace's row before the app's, as counting does.
 */
export async function uncountUnpaid(
  db: Db,
  { workspace_id, kind, subject_id }: UnpaidWork,
  countedAt: Date,
): Promise<void> {
  for (const subject of new Set([workspace_id, subject_id]))
    await sql`update unpaid_model_work set times = times - 1
      where workspace_id = ${workspace_id} and kind = ${kind} and subject_id = ${subject} and times > 0
        and day = (${countedAt}::timestamptz at time zone 'UTC')::date`.execute(db);
}

/**
 * Whether a model that is unavailable for this reason may have worked, so the operator may have to pay for it. A model that
 * is off, can't be reached, or serves no one at the moment, has written nothing.
 */
export const mayHaveWorked = ({ reason }: { readonly reason: string }): boolean =>
  !['off', 'unreachable', 'refused'].includes(reason);

/** Removes the numbers of days before yesterday, and returns how many. */
export async function removeOldUnpaid(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`/* service */ delete from unpaid_model_work
    where (workspace_id, kind, subject_id) in (select workspace_id, kind, subject_id from unpaid_model_work
      where day < (${now}::timestamptz at time zone 'UTC')::date - 1 limit 1000)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
