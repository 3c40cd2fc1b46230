// Creates the drill's callers.
import { keyScopes } from '../../server/src/core/auth/credentials.ts';
import type { Caller, CallerKind, TenantLetter } from './caller-kinds.ts';
import { call, type Send } from './client.ts';
import { bearer, type Fixtures, marker } from './fixtures.ts';
import type { Tenant } from './tenant.ts';

/** Several are needed, because each app user may send only 600 requests per minute. */
const appUsers = 24;
const addresses = 3_000;

interface User {
  readonly id: string;
  readonly caller: Caller;
}

/** Creates app users, each with a token. */
async function createAppUsers(send: Send, { app_id, token }: Tenant): Promise<User[]> {
  const made: User[] = [];
  for (let n = 0; n < appUsers; n += 1) {
    const path = `/api/apps/${app_id}/users`;
    const { id } = await call(send, token, 'POST', path, { email: `caller${n}@customers.example` });
    const minted = await call(send, token, 'POST', `${path}/${id}/tokens`, { expires_in_seconds: 86_400 });
    made.push({ id, caller: bearer(minted.token) });
  }
  return made;
}

/** Creates users of the victim's app who are denied by its rules, a deleted user's token and an expired token. */
async function createVictimsUsers(
  fixtures: Fixtures,
  send: Send,
  a: Tenant,
): Promise<{ refused: Caller[]; ended: Caller[] }> {
  const [gone, late, ...others] = (await createAppUsers(send, a)) as [User, User, ...User[]];
  await call(send, a.token, 'DELETE', `/api/apps/${a.app_id}/users/${gone.id}`);
  const over = { app_user_id: late.id, workspace_id: a.workspace_id, expires_at: new Date(Date.now() - 1000) };
  const expired = await fixtures.credential({ kind: 'app_user_token', ...over });
  const ended = [gone.caller, bearer(expired)].flatMap(fromManyAddresses);
  return { refused: [late, ...others].map(({ caller }) => caller), ended };
}

/** Spreads requests over many addresses, because failed requests from unknown callers are limited per address. */
const fromManyAddresses = ({ headers }: Caller): Caller[] =>
  Array.from({ length: addresses }, (_, n) => ({
    headers: { ...headers, 'x-forwarded-for': `100.64.${n >> 8}.${n & 255}` },
  }));

export async function createCallerKinds(
  fixtures: Fixtures,
  { a, b, c }: Record<TenantLetter, Tenant>,
  send: Send,
): Promise<CallerKind[]> {
  const callersOf = async (tenant: Tenant) => (await createAppUsers(send, tenant)).map(({ caller }) => caller);
  const { refused, ended } = await createVictimsUsers(fixtures, send, a);
  const limited = { workspace_id: b.workspace_id, app_ids: [b.app_id] };
  const limitedToken = await fixtures.credential({ kind: 'personal_token', user_id: b.owner_id, ...limited });
  const limitedKey = await fixtures.credential({ kind: 'workspace_key', scopes: keyScopes, ...limited });
  const strangers = fromManyAddresses({ headers: {} });
  return [
    kind('app user of b', 'b', 'runtime', await callersOf(b)),
    kind('app user of c', 'c', 'runtime', await callersOf(c)),
    kind('anonymous, b being open', 'b', 'runtime', strangers, { entities: ['Note'], isSignedIn: false }),
    kind('guest with a share of b', 'b', 'editor', await fixtures.members(b.workspace_id, 'guest', 8, b.app_id)),
    kind('editor of the workspace', 'b', 'editor', await fixtures.members(b.workspace_id, 'editor', 8)),
    kind('viewer of the workspace', 'b', 'viewer', await fixtures.members(b.workspace_id, 'viewer', 8)),
    kind("the victim's token limited to b", 'b', 'owner', [bearer(limitedToken)]),
    kind('workspace key limited to b', 'b', 'key', [bearer(limitedKey)], { weight: 1 }),
    kind('owner and admins of another workspace', 'c', 'owner', [
      bearer(c.token),
      ...(await fixtures.members(c.workspace_id, 'admin', 11)),
    ]),
    kind('app user of a whom the rules refuse', null, 'runtime', refused),
    kind('ended token of an app user of a', null, 'runtime', ended, { weight: 0.5, isSignedIn: false }),
  ];
}

const kind = (
  name: string,
  own: CallerKind['own'],
  role: CallerKind['role'],
  callers: readonly Caller[],
  more: Partial<CallerKind> = {},
): CallerKind => {
  const entities = role === 'runtime' ? ['Task', 'Note'] : ['Task', 'Note', 'Bare'];
  return { name, own, role, callers, stamp: marker(), entities, weight: 2, isSignedIn: true, ...more };
};
