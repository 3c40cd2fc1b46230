// Connects an imported app to its repository on the git host (docs/api/coding-sessions.md#repository).
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { GitCredential, GitHost } from '../../../gateways/git-host/types.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import { rewrapEach, type SecretLocation, type Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import { type NewRepository, presentRepository, type Repository } from '../contract.ts';
import {
  findRepository,
  listUnderOldKeys,
  lockRepository,
  type RepositoryRow,
  removeRepository,
  saveRepository,
  saveRewrapped,
} from '../store/repositories.ts';
import { findActiveSession, toAppKey } from '../store/sessions.ts';

export interface RepositoryDeps {
  readonly gitHost: Pick<GitHost, 'configured' | 'hasApp' | 'host' | 'readRepository' | 'readBranch'>;
  readonly secrets: Secrets;
  /** Parsed from `GIT_HOST_APP_OWNERS`. */
  readonly appOwners: readonly AppOwner[];
}

export interface CredentialDeps extends Pick<RepositoryDeps, 'secrets' | 'appOwners'> {
  readonly gitHost: Pick<GitHost, 'hasApp'>;
}

/**
 * Allows a workspace to connect repositories through the operator's App, which can also access other workspaces'
 * repositories.
 */
interface AppOwner {
  /** `owner` or `owner/repository`, in lower case. */
  readonly name: string;
  readonly workspace_id: string;
}

/** The repository to be connected, as the git host describes it. */
interface CheckedRepository {
  readonly repository_full_name: string;
  readonly base_branch: string;
  readonly default_branch: string;
  readonly missing_permissions: readonly string[];
}

/** Queries the git host, outside of any transaction. */
export async function checkRepository(
  deps: RepositoryDeps,
  { app }: AppAccess,
  input: NewRepository,
): Promise<CheckedRepository> {
  const { gitHost } = deps;
  if (!gitHost.configured) throw gitHostNotConfigured();
  const credential = chooseCredential(deps, app.workspace_id, input);
  const signal = AbortSignal.timeout(hostMs);
  const read = await gitHost.readRepository(input.repository_full_name, credential, signal);
  if (read.outcome === 'unavailable') throw gitHostUnavailable();
  if (read.outcome === 'refused') throw refusedCredential(credential);
  if (read.outcome === 'not_found') throw invalid(['repository_full_name'], notReadable);
  // The host may return a name that differs from the requested one, for example after a rename.
  if ('app' in credential && !mayUseApp(deps, app.workspace_id, read.full_name)) throw tokenNeeded();
  const base_branch = input.base_branch ?? read.default_branch;
  const branch = await gitHost.readBranch(read.full_name, base_branch, credential, signal);
  if (branch.outcome === 'unavailable') throw gitHostUnavailable();
  if (branch.outcome === 'refused') throw refusedCredential(credential);
  if (branch.outcome === 'not_found')
    throw input.base_branch === undefined
      ? invalid(['repository_full_name'], 'must contain at least one commit')
      : invalid(['base_branch'], 'must be an existing branch in the repository');
  const { full_name: repository_full_name, default_branch, missing_permissions } = read;
  return { repository_full_name, base_branch, default_branch, missing_permissions };
}

const hostMs = 10_000;

function chooseCredential(
  deps: RepositoryDeps,
  workspaceId: string,
  { credentials, repository_full_name }: NewRepository,
): GitCredential {
  if (credentials !== undefined) return { token: credentials.token };
  if (mayUseApp(deps, workspaceId, repository_full_name)) return { app: true };
  throw tokenNeeded();
}

function mayUseApp({ gitHost, appOwners }: CredentialDeps, workspaceId: string, fullName: string): boolean {
  const repository = fullName.toLowerCase();
  const [owner] = repository.split('/');
  return (
    gitHost.hasApp &&
    appOwners.some(({ name, workspace_id }) => workspace_id === workspaceId && (name === repository || name === owner))
  );
}

const tokenNeeded = () =>
  new ValidationError([
    {
      loc: ['body', 'credentials'],
      msg: "is required because this workspace can't connect the repository without a token",
      type: 'missing',
    },
  ]);

const notReadable = 'must be a repository that the credential can read';

const refusedCredential = (credential: GitCredential) =>
  'token' in credential
    ? invalid(['credentials', 'token'], 'must be a token that the git host accepts for this repository')
    : invalid(['repository_full_name'], notReadable);

const invalid = (at: Fault['loc'], msg: string) =>
  new ValidationError([{ loc: ['body', ...at], msg, type: 'value_error' }]);

export function connectRepository(
  db: Db,
  { gitHost, secrets }: RepositoryDeps,
  access: AppAccess,
  { input: { credentials }, checked }: { readonly input: NewRepository; readonly checked: CheckedRepository },
  now: Date,
): Promise<Repository> {
  const app = toAppKey(access);
  return transaction(db, async (db) => {
    const before = await lockRepository(db, app);
    const isSame = before !== undefined && isSameRepository(before, checked.repository_full_name);
    // An active session's branch is in the repository that was connected at its launch, so a different repository
    // can't be connected in the meantime.
    if (before !== undefined && !isSame && (await findActiveSession(db, app))) throw activeSession();
    const row = await saveRepository(db, {
      ...app,
      ...checked,
      missing_permissions: [...checked.missing_permissions],
      host: gitHost.host,
      token_sealed: credentials === undefined ? null : secrets.seal(credentials.token, tokenLocation(app.app_id)),
      connected_by: access.caller.email ?? '',
      connected_at: now,
    });
    const { repository_full_name, base_branch } = row;
    const after = { repository_full_name, base_branch, host: row.host };
    await audit(db, access, { ...targetOf(access), type: 'repository.connected', after }, now);
    return presentRepository(row);
  });
}

export async function getRepository(db: Db, access: AppAccess): Promise<Repository> {
  const row = await findRepository(db, toAppKey(access));
  if (row === undefined) throw repositoryNotConnected();
  return presentRepository(row);
}

export function disconnectRepository(db: Db, access: AppAccess, now: Date): Promise<{ success: true }> {
  const app = toAppKey(access);
  return transaction(db, async (db) => {
    const row = await lockRepository(db, app);
    if (row === undefined) throw repositoryNotConnected();
    if (await findActiveSession(db, app)) throw activeSession();
    await removeRepository(db, app);
    const before = { repository_full_name: row.repository_full_name };
    await audit(db, access, { ...targetOf(access), type: 'repository.disconnected', before }, now);
    return { success: true };
  });
}

const targetOf = ({ app }: AppAccess) => ({ target: { kind: 'repository', id: app.id }, app_id: app.id });

/** Git hosts compare names case-insensitively. */
export const isSameRepository = (
  { repository_full_name }: Pick<RepositoryRow, 'repository_full_name'>,
  fullName: string,
): boolean => repository_full_name.toLowerCase() === fullName.toLowerCase();

// ---- tokens

const tokenLocation = (appId: string): SecretLocation => ['app_repositories', appId, 'token_sealed'];

/**
 * The credential for requests to the git host. Undefined if the repository was connected through the operator's App, and
 * the operator no longer gives it to the workspace.
 */
export function openCredential(
  deps: CredentialDeps,
  row: Pick<RepositoryRow, 'app_id' | 'token_sealed' | 'workspace_id' | 'repository_full_name'>,
): GitCredential | undefined {
  const { app_id, token_sealed, workspace_id, repository_full_name } = row;
  if (token_sealed !== null) return { token: deps.secrets.open(token_sealed, tokenLocation(app_id)) };
  return mayUseApp(deps, workspace_id, repository_full_name) ? { app: true } : undefined;
}

/** Re-encrypts tokens with the current master key. Returns the number re-encrypted. */
export const rewrapTokens = async (db: Db, secrets: Secrets, masterKeyId: string): Promise<number> =>
  rewrapEach('tokens of repositories', await listUnderOldKeys(db, masterKeyId, 100), async (row) => {
    const token_sealed = secrets.rewrap(row.token_sealed, tokenLocation(row.app_id));
    if (token_sealed !== undefined) await saveRewrapped(db, row, token_sealed);
  });

// ---- refusals

export const repositoryNotConnected = () =>
  new Problem(
    'not_found',
    'repository_not_connected',
    'The app is not connected to a repository. Connect one with connectRepository.',
  );

const activeSession = () =>
  new Problem(
    'conflict',
    'session_busy',
    'A coding session is working on the connected repository. Wait until it has ended, or cancel it with cancelSession.',
  );

export const gitHostNotConfigured = () =>
  new Problem(
    'unavailable',
    'git_host_unavailable',
    'This installation has no git host. Ask its operator to set GIT_HOST_URL.',
    { headers: { 'retry-after': '60' } },
  );

export const gitHostUnavailable = () =>
  new Problem(
    'unavailable',
    'git_host_unavailable',
    "The git host can't be reached. Nothing was changed. Send the request again in a few seconds.",
    { headers: { 'retry-after': '5' } },
  );
