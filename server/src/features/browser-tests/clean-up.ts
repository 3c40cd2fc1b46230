// A run's temporary app users: creating them, and removing them along with their records.
import { randomBytes } from 'node:crypto';
import type { DataAccess } from '../../core/auth/proofs.ts';
import { findAccessAsApp } from '../../core/auth/proofs-without-guard.ts';
import { hashPassword } from '../../core/identity/passwords.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Db } from '../../tables.ts';
import { asOwner } from './end.ts';
import type { TestUser } from './run/types.ts';
import { type ExecutionRow, listRunsToCleanUp, saveExecution, type UsersOfRun } from './store/executions.ts';

export interface NewTestUser {
  readonly email: string;
  readonly passwordHash: string;
  readonly role: ExecutionRow['role'];
}

export interface TestUserDeps {
  readonly temporaryUsers: {
    create(db: Db, access: DataAccess, user: NewTestUser, now: Date): Promise<string>;
    /** Does nothing if the user no longer exists. */
    remove(db: Db, access: DataAccess, id: string, now: Date): Promise<void>;
  };
  /** Removes the records that a user has created since the given time, including those in the trash. */
  readonly removeRecords: (
    db: Db,
    access: DataAccess,
    creator: { readonly id: string; readonly since: Date },
    now: Date,
  ) => Promise<void>;
  readonly clock: Clock;
}

/** Creates a new user for each claim, because the password is kept only in the worker's memory. */
export async function createTestUser(
  db: Db,
  { temporaryUsers, clock }: TestUserDeps,
  access: DataAccess,
  execution: ExecutionRow,
): Promise<TestUser> {
  const email = `test-${randomBytes(6).toString('hex')}@test-user.example`;
  const password = `Aa1-${randomBytes(12).toString('base64url')}`;
  const client = { ip: execution.ip, app_id: execution.app_id };
  const passwordHash = await hashPassword(password, client);
  await asOwner(db, execution, async (db, { role, app_user_ids }) => {
    const id = await temporaryUsers.create(db, access, { email, passwordHash, role }, clock.now());
    await saveExecution(db, execution, { app_user_ids: [...app_user_ids, id] });
  });
  return { email, password };
}

/** Returns false if the removal must wait because the app is in the trash. */
export async function removeTestUsers(
  db: Db,
  deps: TestUserDeps,
  { app_user_ids, created_date: since, ...run }: UsersOfRun,
): Promise<boolean> {
  if (app_user_ids.length === 0) return true;
  const access = await findAccessAsApp(db, run);
  if (access === undefined) return false;
  for (const id of app_user_ids) {
    // The user is removed first, so they can't start another request once the records have been listed.
    await deps.temporaryUsers.remove(db, access, id, deps.clock.now());
    await deps.removeRecords(db, access, { id, since }, deps.clock.now());
  }
  return true;
}

const runsAtOnce = 20;
/** A request that started before the user was removed may still create a record. */
const settledMs = 15_000;

/**
 * Removes the users and records left behind by ended runs. If a run's clean-up fails, it is retried after all others.
 */
export async function cleanUpRuns(db: Db, deps: TestUserDeps, now: Date): Promise<number> {
  const failures: unknown[] = [];
  let done = 0;
  for (const run of await listRunsToCleanUp(db, new Date(now.getTime() - settledMs), runsAtOnce))
    try {
      await saveExecution(db, run, { clean_up_tried_at: now });
      if (!(await removeTestUsers(db, deps, run))) continue;
      await saveExecution(db, run, { app_user_ids: [] });
      done += 1;
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return done;
}
