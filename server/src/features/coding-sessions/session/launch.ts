// Launches a session (docs/api/coding-sessions.md#launching). A launch's key is kept forever. Every request that
// repeats the key, even concurrently, returns the first request's session in its current state.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { audit } from '../../../core/audit/audit.ts';
import { requireImported } from '../../../core/auth/guards/app.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { requireCredits } from '../../../core/credits/reservations.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import type { BranchRead, GitHost } from '../../../gateways/git-host/types.ts';
import type { LanguageModel, ModelState } from '../../../gateways/language-model/index.ts';
import { afterCommit, takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { idempotencyConflict } from '../../../kit/http/idempotency.ts';
import { newId } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type CodingSession, type Launch, presentSession } from '../contract.ts';
import {
  type CredentialDeps,
  gitHostNotConfigured,
  gitHostUnavailable,
  isSameRepository,
  openCredential,
  repositoryNotConnected,
} from '../repository/repository.ts';
import { insertEvents } from '../store/events.ts';
import { findRepository, lockRepository, type RepositoryRow } from '../store/repositories.ts';
import {
  findActiveOnBranch,
  findSessionByKey,
  insertSession,
  lockSession,
  type SessionRow,
  saveSession,
  toAppKey,
} from '../store/sessions.ts';
import { minTurnCredits } from '../turn/costs.ts';
import { recordChange, type SessionDeps, sessionQueue, toSessionTopic } from './session.ts';

export interface LaunchDeps extends SessionDeps, CredentialDeps {
  readonly gitHost: Pick<GitHost, 'configured' | 'hasApp' | 'readBranch'>;
  readonly model: Pick<LanguageModel, 'readState'>;
  readonly storage: StorageQuota;
}

/** The state of the git host and the model, checked before the transaction. */
export interface LaunchCheck {
  /** The outcome of reading the base branch, or the existing branch. */
  readonly branch: BranchRead['outcome'] | 'not_asked';
  readonly isProtected: boolean;
  readonly modelState: ModelState;
}

/** What a session stores at least, besides what is sent (core/storage/stored-tables.ts). */
const sessionBytes = 5_000;

const notAsked: LaunchCheck = { branch: 'not_asked', isProtected: false, modelState: 'available' };
const hostMs = 10_000;

/**
 * Collects the facts for launchSession, which checks them in the documented order while it holds the lock on the key.
 */
export async function checkLaunch(
  db: Db,
  deps: LaunchDeps,
  access: AppAccess,
  launch: Launch,
  key: string,
): Promise<LaunchCheck> {
  const { gitHost, model } = deps;
  const app = toAppKey(access);
  const repository = await findRepository(db, app);
  if (repository === undefined || (await findSessionByKey(db, app, getUser(access), key))) return notAsked;
  const modelState = await model.readState();
  if (!gitHost.configured) return { ...notAsked, modelState };
  const branch = launch.existing_branch === undefined ? repository.base_branch : toBranch(launch.existing_branch);
  const credential = openCredential(deps, repository);
  if (credential === undefined) return { branch: 'refused', isProtected: false, modelState };
  const signal = AbortSignal.timeout(hostMs);
  const read = await gitHost.readBranch(repository.repository_full_name, branch, credential, signal);
  return { branch: read.outcome, isProtected: read.outcome === 'found' && read.is_protected, modelState };
}

/** Checks for refusals in the order given in docs/api/coding-sessions.md#launching. */
export function launchSession(
  db: Db,
  deps: LaunchDeps,
  access: AppAccess,
  { launch, key, check }: { readonly launch: Launch; readonly key: string; readonly check: LaunchCheck },
  now: Date,
): Promise<Answer<CodingSession>> {
  const app = toAppKey(access);
  const user_id = getUser(access);
  const notes = { ignored: listIgnored(launch) };
  return transaction(db, async (db) => {
    // If several requests use this key concurrently, all but the first find the first request's session.
    await takeAdvisoryLock(db, `coding session ${app.app_id} ${user_id} ${key}`);
    const launched = await findSessionByKey(db, app, user_id, key);
    if (launched !== undefined) {
      const row = await replayLaunch(db, deps, launched, launch, now);
      const headers = { 'idempotent-replayed': 'true' };
      return withNotes(presentSession(row, deps.baseUrl), { ...notes, headers });
    }
    requireImported(access);
    // The lock keeps the repository connected. If two launches use the same branch, the second sees the first one's
    // session.
    const repository = await lockRepository(db, app);
    if (repository === undefined) throw repositoryNotConnected();
    requireExpected(repository, launch);
    const work_branch = chooseBranch(launch, user_id, app.app_id, key);
    requireAllowed(repository, launch, work_branch, check);
    if (await findActiveOnBranch(db, app, work_branch)) throw branchBusy();
    await requireCredits(db, { workspace_id: app.workspace_id, user_id, amount: minTurnCredits }, now);
    await deps.storage.admit(db, access, sessionBytes + JSON.stringify(launch).length, now);
    requireOutside(deps, check);
    const row = await beginSession(db, access, { launch, key, repository, work_branch }, now);
    await insertEvents(
      db,
      row,
      [{ version: row.version, event: 'state', data: presentSession(row, deps.baseUrl) }],
      now,
    );
    afterCommit(db, () => {
      deps.wake.notify(sessionQueue);
      deps.wake.notify(toSessionTopic(row.id));
    });
    return withNotes(presentSession(row, deps.baseUrl), notes);
  });
}

/** Coding sessions act on behalf of a person, so workspace keys are refused. */
export function getUser({ caller }: AppAccess): string {
  if (caller.user_id === null) throw new Error('a coding session needs a person');
  return caller.user_id;
}

// ---- replay

async function replayLaunch(
  db: Db,
  deps: LaunchDeps,
  launched: SessionRow,
  launch: Launch,
  now: Date,
): Promise<SessionRow> {
  if (launched.launch_hash !== hashLaunch(launch)) throw idempotencyConflict();
  const { client_reference } = launch;
  if (client_reference === undefined || client_reference === launched.client_reference) return launched;
  const locked = (await lockSession(db, launched)) ?? launched;
  if (locked.client_reference !== null) throw idempotencyConflict();
  const row = await saveSession(db, locked, { client_reference, updated_date: now });
  await recordChange(db, deps, row, now);
  return row;
}

/** Hashes everything that affects the work. The client reference is only a label, so it is excluded. */
const hashLaunch = ({ client_reference: _, ...inputs }: Launch): string =>
  createHash('sha256')
    .update(canonicalize(inputs) ?? '')
    .digest('hex');

// ---- branches

const toBranch = (name: string): string => name.replace(/^refs\/heads\//, '');

/** `source_ref` is ignored for an existing branch, which already has a starting point. */
const listIgnored = ({ existing_branch, source_ref }: Launch): string[] =>
  existing_branch !== undefined && source_ref !== undefined ? ['source_ref'] : [];

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** The name depends only on the launch, so repeating a launch after a crash never creates a second branch. */
function chooseBranch({ existing_branch, title }: Launch, userId: string, appId: string, key: string): string {
  if (existing_branch !== undefined) return toBranch(existing_branch);
  const digest = createHash('sha256')
    .update(JSON.stringify([userId, appId, key]))
    .digest();
  const name = Array.from(digest.subarray(0, 10), (byte) => alphabet[byte % 32]).join('');
  return `plinth/${name}-${toSlug(title)}`;
}

const maxSlug = 40;

function toSlug(title: string): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  return words.join('-').slice(0, maxSlug).replace(/-$/, '') || 'session';
}

function requireExpected(repository: RepositoryRow, { expected_repository_full_name: expected }: Launch): void {
  if (expected !== undefined && !isSameRepository(repository, expected)) throw repositoryMismatch();
}

function requireAllowed(
  { base_branch, default_branch }: RepositoryRow,
  { existing_branch }: Launch,
  branch: string,
  { isProtected }: LaunchCheck,
): void {
  if (existing_branch === undefined) return;
  if (isProtected || branch === base_branch || branch === default_branch) throw branchNotAllowed();
}

/**
 * Refuses the launch if the git host or the model is unavailable or not configured. A missing branch or a rejected
 * token does not prevent the launch; the session fails later, with an error code.
 */
function requireOutside({ gitHost }: LaunchDeps, { branch, modelState }: LaunchCheck): void {
  if (!gitHost.configured) throw gitHostNotConfigured();
  if (branch === 'unavailable' || branch === 'not_asked') throw gitHostUnavailable();
  if (modelState !== 'available') throw modelUnavailable(modelState);
}

// ---- recording

interface Recorded {
  readonly launch: Launch;
  readonly key: string;
  readonly repository: RepositoryRow;
  readonly work_branch: string;
}

async function beginSession(
  db: Db,
  access: AppAccess,
  { launch, key, repository, work_branch }: Recorded,
  now: Date,
): Promise<SessionRow> {
  const { credential_id, request_id, ip } = access.caller;
  const { repository_full_name, base_branch } = repository;
  const { prompt, title, existing_branch, source_ref, pull_request_body, commit_message, client_reference } = launch;
  const row = await insertSession(db, toAppKey(access), {
    id: newId(),
    user_id: getUser(access),
    launch_key: key,
    launch_hash: hashLaunch(launch),
    client_reference: client_reference ?? null,
    prompt,
    title,
    existing_branch: existing_branch ?? null,
    source_ref: existing_branch === undefined ? (source_ref ?? null) : null,
    pull_request_body: pull_request_body ?? null,
    commit_message: commit_message ?? null,
    repository_full_name,
    base_branch,
    work_branch,
    credential_id,
    request_id,
    ip,
    created_date: now,
    updated_date: now,
  });
  const target = { kind: 'coding_session', id: row.id };
  const after = { repository_full_name, branch: work_branch };
  await audit(db, access, { type: 'session.launched', target, app_id: row.app_id, after }, now);
  return row;
}

// ---- refusals

export const repositoryMismatch = () =>
  new Problem(
    'conflict',
    'repository_mismatch',
    'The app is connected to a different repository. Read it with getRepository, and check which one you meant.',
  );

export const branchNotAllowed = () =>
  new Problem(
    'bad_request',
    'branch_not_allowed',
    "Sessions can't work on the base branch, the default branch or a protected branch. Leave out `existing_branch` to work on a new branch.",
  );

export const branchBusy = () =>
  new Problem(
    'conflict',
    'session_busy',
    'Another coding session is working on this branch. Wait until it has ended, or cancel it with cancelSession.',
  );

const modelUnavailable = (state: ModelState) =>
  new Problem(
    'unavailable',
    'model_unavailable',
    state === 'not_configured'
      ? 'This installation has no language model. Ask its operator to set MODEL_URL.'
      : 'The language model is unavailable. Nothing was charged. Send the request again in a few seconds.',
    { headers: { 'retry-after': state === 'not_configured' ? '60' : '5' } },
  );
