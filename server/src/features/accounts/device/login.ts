// Lets a program get a token with a code that a person types in their browser, so no token is copied by hand:
//
//   program   startDeviceLogin                         -> device_code, user_code WDJB-MJHT
//   person    opens /device, types the code, approves  -> the login is approved by their session
//   program   pollDeviceLogin, every five seconds      -> the token, which is created by this request
import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../../core/audit/audit.ts';
import { findWorkspaceOnBehalf } from '../../../core/auth/on-behalf.ts';
import type { SelfAccess, Visitor, WorkspaceAccess } from '../../../core/auth/proofs.ts';
import type { Pepper } from '../../../core/auth/tokens.ts';
import { hashOneTimeToken, newOneTimeToken } from '../../../core/identity/accounts.ts';
import type { TokenKeys } from '../../../core/identity/users.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { nameClient } from '../../../kit/http/connection/client-address.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { newId } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { createToken, requireApps } from '../tokens.ts';
import { type DeviceLoginAnswer, intervalSeconds, lifetimeSeconds, type NewDeviceLogin } from './contract.ts';
import {
  type DeviceLoginRow,
  findByUserCode,
  insertLogin,
  type LoginAnswer,
  lockByDeviceHash,
  lockById,
  removeLogin,
  saveAnswer,
} from './store.ts';

export interface DeviceDeps {
  readonly pepper: Pepper;
  readonly tokenKeys: TokenKeys;
  readonly baseUrl: string;
}

/** Letters that can't be taken for each other or for digits, and that form no words. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const codeLength = 8;

const newUserCode = (): string =>
  Array.from({ length: codeLength }, () => letters[randomInt(letters.length)] as string).join('');

const writeUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Small letters and other separators are accepted as well. */
const readUserCode = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z]/g, '');

export async function startDeviceLogin(
  db: Db,
  { pepper, baseUrl }: DeviceDeps,
  visitor: Visitor,
  { client_name, permission = 'read_only', app_ids = null }: NewDeviceLogin,
  now: Date,
) {
  const device_code = newOneTimeToken();
  const login = {
    device_hash: hashOneTimeToken(device_code, pepper),
    client_name,
    address: nameClient(visitor.ip),
    permission,
    app_ids,
    created_date: now,
    expires_at: new Date(now.getTime() + lifetimeSeconds * 1000),
  };
  for (;;) {
    const user_code = newUserCode();
    const outcome = await insertLogin(db, { ...login, id: newId(), user_code }, now);
    if (outcome === 'full') throw tooManyLogins();
    if (outcome === 'taken') continue;
    return {
      device_code,
      user_code: writeUserCode(user_code),
      verification_url: `${baseUrl}/device`,
      expires_in_seconds: lifetimeSeconds,
      interval_seconds: intervalSeconds,
    };
  }
}

export const findDeviceLogin = (db: Db, access: SelfAccess, userCode: string, now: Date) =>
  findByUserCode(db, access, readUserCode(userCode), now);

export const presentDeviceLogin = ({ client_name, address, created_date, permission, app_ids }: DeviceLoginRow) => ({
  client_name,
  address,
  requested_at: created_date.toISOString(),
  permission,
  app_ids,
});

const done = { success: true } as const;

/**
 * Approves or denies the login. Until the token is fetched, the last answer counts, so an approval can be narrowed or
 * withdrawn. A denial is final.
 */
export async function answerDeviceLogin(
  db: Db,
  access: WorkspaceAccess & { readonly device_login: DeviceLoginRow },
  input: DeviceLoginAnswer,
  now: Date,
): Promise<Answer<typeof done>> {
  const granted = chooseRights(access.device_login, input);
  return transaction(db, async (db) => {
    const login = await lockById(db, access, access.device_login.id, now);
    if (login === undefined) throw notFound('device_login_not_found');
    const isOwn = login.answered_by === null || login.answered_by === access.caller.user_id;
    if (!isOwn || (login.is_approved === false && input.approve)) throw notFound('device_login_not_found');
    const answer = {
      ...granted,
      session_id: access.caller.credential_id,
      granted_workspace_id: access.workspace_id,
      is_approved: input.approve,
    };
    if (isSameAnswer(login, answer)) return unchanged(done);
    if (input.approve) await requireApps(db, access, granted.granted_app_ids);
    await saveAnswer(db, access, login.id, answer);
    const { client_name, address } = login;
    const after = {
      approved: input.approve,
      client_name,
      address,
      ...(input.approve && { permission: granted.granted_permission, app_ids: granted.granted_app_ids }),
    };
    const target = { kind: 'device_login', id: login.id };
    await audit(db, access, { type: 'device_login.answered', target, after }, now);
    return withNotes(done, {});
  });
}

/** Denials are the same whatever else was sent with them. */
const isSameAnswer = (login: DeviceLoginRow, answer: LoginAnswer): boolean =>
  login.is_approved === answer.is_approved &&
  (!answer.is_approved || isDeepStrictEqual({ ...login, ...answer }, { ...login }));

/** A token never gets more than the program asked for, whatever the person's page sends. */
function chooseRights(asked: DeviceLoginRow, input: DeviceLoginAnswer) {
  const granted_permission = input.permission ?? asked.permission;
  const granted_app_ids = input.app_ids ?? asked.app_ids;
  if (asked.permission === 'read_only' && granted_permission === 'full_access') throw tooWide('permission');
  if (granted_app_ids?.some((id) => asked.app_ids !== null && !asked.app_ids.includes(id))) throw tooWide('app_ids');
  return { granted_permission, granted_app_ids, granted_days: input.expires_in_days ?? null };
}

const tooWide = (field: string) =>
  new ValidationError([
    { loc: ['body', field], msg: 'must not be more than the program asked for', type: 'value_error' },
  ]);

/**
 * Creates the token and removes the login, so a token is created once. It is created on behalf of the session that
 * approved, with the rights that its person has now.
 */
export async function pollDeviceLogin(
  db: Db,
  { pepper, tokenKeys }: DeviceDeps,
  { request_id, ip }: Visitor,
  device_code: string,
  now: Date,
) {
  return transaction(db, async (db) => {
    const login = await lockByDeviceHash(db, hashOneTimeToken(device_code, pepper), now);
    if (login === undefined) throw loginExpired();
    const { is_approved, session_id, granted_workspace_id, granted_permission, granted_app_ids, granted_days } = login;
    if (is_approved === null) throw loginPending();
    if (!is_approved || session_id === null || granted_workspace_id === null) throw loginDenied();
    const access = await findWorkspaceOnBehalf(db, { credential_id: session_id, request_id, ip }, granted_workspace_id);
    if (access === undefined) throw loginDenied();
    const rights = {
      name: login.client_name,
      permission: granted_permission ?? undefined,
      app_ids: granted_app_ids,
      expires_in_days: granted_days ?? undefined,
    };
    const created = await createToken(db, access, rights, tokenKeys, now);
    await removeLogin(db, login);
    return created;
  });
}

const tooManyLogins = () =>
  new Problem(
    'unavailable',
    'service_unavailable',
    'Too many programs are waiting to be approved. Try again in a few minutes.',
  );

const loginPending = () =>
  new Problem(
    'conflict',
    'device_login_pending',
    'Nobody has answered yet. Open the page /device, type the code, and send this request again in five seconds.',
    { retrySafe: true, headers: { 'retry-after': String(intervalSeconds) } },
  );

const loginDenied = () =>
  new Problem(
    'forbidden',
    'device_login_denied',
    'The login was denied, or the person who approved it has signed out or lost access. Start again.',
  );

const loginExpired = () =>
  new Problem('gone', 'device_login_expired', 'This login has expired, or its token was already fetched. Start again.');
