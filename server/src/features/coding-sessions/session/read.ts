// Reads a session. The pull request's state is refreshed if it is more than a minute old. If the git host does
// not respond, the last known state is returned.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { GitHost } from '../../../gateways/git-host/types.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { idempotencyKeyForm } from '../../../kit/http/idempotency.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type CodingSession, type PullRequest, presentSession } from '../contract.ts';
import { type CredentialDeps, isSameRepository, openCredential } from '../repository/repository.ts';
import { findRepository } from '../store/repositories.ts';
import {
  findSessionByKey,
  lockSession,
  type SessionRow,
  savePullRequestRead,
  saveSession,
  takePullRequestRead,
  toAppKey,
} from '../store/sessions.ts';
import { getUser } from './launch.ts';
import { recordChange, type SessionDeps } from './session.ts';

export interface ReadDeps extends SessionDeps, CredentialDeps {
  readonly gitHost: Pick<GitHost, 'configured' | 'hasApp' | 'readPullRequest'>;
}

export async function readSession(
  db: Db,
  deps: ReadDeps,
  session: SessionRow,
  now: Date,
): Promise<Answer<CodingSession>> {
  const { row, isStale } = await refreshPullRequest(db, deps, session, now);
  return withNotes(presentSession(row, deps.baseUrl), {
    headers: { 'x-session-version': String(row.version) },
    ...(isStale && { partial: ['pull_request'] }),
  });
}

export async function readSessionByKey(
  db: Db,
  deps: ReadDeps,
  access: AppAccess,
  key: string,
  now: Date,
): Promise<Answer<CodingSession>> {
  const isKey = idempotencyKeyForm.test(key);
  const session = isKey ? await findSessionByKey(db, toAppKey(access), getUser(access), key) : undefined;
  if (session === undefined) throw notFound('session_not_found');
  return readSession(db, deps, session, now);
}

const freshMs = 60_000;
const hostMs = 3_000;
/** How long to wait before querying an unresponsive git host again. */
const pauseMs = 10_000;

interface Refreshed {
  readonly row: SessionRow;
  /** Whether the pull request's state may be out of date. */
  readonly isStale: boolean;
}

async function refreshPullRequest(db: Db, deps: ReadDeps, session: SessionRow, now: Date): Promise<Refreshed> {
  const { pull_request, pull_request_read_at: readAt } = session;
  const isFresh = readAt !== null && now.getTime() - readAt.getTime() <= freshMs;
  if (pull_request === null || isFresh) return { row: session, isStale: false };
  const mayAsk = await takePullRequestRead(db, session, new Date(now.getTime() - pauseMs), now);
  const read = mayAsk ? await askHost(db, deps, session) : undefined;
  if (read === undefined) return { row: session, isStale: true };
  return { row: await recordRead(db, deps, session, read, now), isStale: false };
}

/** Returns undefined if the git host does not respond, or can't find this pull request. */
async function askHost(
  db: Db,
  deps: ReadDeps,
  session: SessionRow,
): Promise<Pick<PullRequest, 'state' | 'title' | 'updated_date'> | undefined> {
  const repository = await findRepository(db, session);
  if (repository === undefined || !isSameRepository(repository, session.repository_full_name)) return undefined;
  const { number } = session.pull_request as PullRequest;
  const credential = openCredential(deps, repository);
  if (credential === undefined) return undefined;
  const signal = AbortSignal.timeout(hostMs);
  const read = await deps.gitHost.readPullRequest(session.repository_full_name, number, credential, signal);
  if (read.outcome !== 'found') return undefined;
  const { state, title, updated_date } = read.pull_request;
  return { state, title, updated_date };
}

function recordRead(
  db: Db,
  deps: ReadDeps,
  session: SessionRow,
  read: Pick<PullRequest, 'state' | 'title' | 'updated_date'>,
  now: Date,
): Promise<SessionRow> {
  return transaction(db, async (db) => {
    const locked = await lockSession(db, session);
    if (locked === undefined || locked.pull_request === null) return session;
    const before = locked.pull_request as PullRequest;
    const isSame =
      before.state === read.state && before.title === read.title && before.updated_date === read.updated_date;
    if (isSame) {
      await savePullRequestRead(db, locked, now);
      return locked;
    }
    const pull_request = JSON.stringify({ ...before, ...read });
    const row = await saveSession(db, locked, { pull_request, pull_request_read_at: now, updated_date: now });
    await recordChange(db, deps, row, now);
    return row;
  });
}
