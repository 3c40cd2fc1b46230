// Owns the stage of the drill: a database of its own, the API and a worker as processes, an endpoint that webhooks deliver
// to, two workspaces with three apps, and everybody who calls.
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Heard, startHookSandbox } from '../../sandbox/src/hooks.ts';
import { keyScopes } from '../../server/src/access/accepted.ts';
import { insertApp } from '../../server/src/access/apps.ts';
import {
  insertCredential,
  insertMembership,
  insertUser,
  insertWorkspace,
  type NewCredential,
} from '../../server/src/access/people.ts';
import { proven, type WorkspaceAccess } from '../../server/src/access/proofs.ts';
import type { WorkspaceRole } from '../../server/src/access/roles.ts';
import type { Route } from '../../server/src/access/route.ts';
import { type App, createApp } from '../../server/src/app.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { type Config, readConfig } from '../../server/src/config.ts';
import { createLog } from '../../server/src/kit/log.ts';
import type { Db } from '../../server/src/tables.ts';
import { freshDatabase, start } from '../lib/services.ts';
import { clientOf, done, type Send } from './client.ts';
import type { Caller, Kind, Letter } from './kinds.ts';
import { fill, type Place } from './place.ts';

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const marker = (): string => randomBytes(8).toString('hex');

export interface Stage {
  readonly send: Send;
  readonly db: Db;
  readonly routes: readonly Route[];
  readonly places: Readonly<Record<Letter, Place>>;
  readonly kinds: readonly Kind[];
  close(): Promise<void>;
}

export async function setStage(connections: number, records: number, onHeard: (heard: Heard) => void): Promise<Stage> {
  const database = await freshDatabase('neighbours');
  const receiver = await startHookSandbox({ address: '127.0.0.1', onHeard });
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `bench:${process.pid}:`,
    OUTBOUND_ALLOW: `http://127.0.0.1:${receiver.port}`,
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'error',
  };
  const env = { PATH: process.env.PATH ?? '', ...environment };
  const config = readConfig(environment);
  const app = createApp(config, { migrations: [], log: createLog('error') });
  const api = await start(file('../pipeline/served.ts'), env);
  const worker = fork(file('../../server/src/main.ts'), ['worker'], { env });
  const client = clientOf(api.port, connections);
  const receiverUrl = `http://127.0.0.1:${receiver.port}`;
  const close = async () => {
    client.close();
    await killed(worker);
    await api.stop();
    await app.close();
    await receiver.close();
    await database.drop();
  };
  try {
    const cast = casting(app, config);
    const places = await makePlaces(cast, client.send, receiverUrl);
    for (const place of Object.values(places)) await fill(client.send, place, records);
    const kinds = await makeKinds(cast, places, client.send);
    return { send: client.send, db: app.database.db, routes: app.routes, places, kinds, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

type Cast = ReturnType<typeof casting>;

function casting({ database: { db } }: App, config: Config) {
  const now = new Date();
  const mint = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const credential = async (about: Partial<NewCredential> & Pick<NewCredential, 'kind'>): Promise<string> =>
    (await insertCredential(db, mint, { user_id: null, workspace_id: null, permission: 'full_access', ...about }, now))
      .token;
  return {
    db,
    now,
    credential,
    person: (name: string) => insertUser(db, { email: `${name}@example.com`, full_name: name }, now),
    async workspace(owner_id: string): Promise<string> {
      const id = await insertWorkspace(db, { name: 'Neighbours', plan: 'enterprise', owner_id }, now);
      // Counted as in production; only the figure is out of the way.
      await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
      return id;
    },
    /** Tokens of so many people with this role in a workspace. */
    async members(workspace_id: string, role: WorkspaceRole, count: number, sharedApp?: string): Promise<Caller[]> {
      const callers: Caller[] = [];
      for (let n = 0; n < count; n += 1) {
        const user_id = await insertUser(db, { email: `${role}${n}-${marker()}@example.com`, full_name: role }, now);
        await insertMembership(db, { workspace_id, user_id, role }, now);
        if (sharedApp !== undefined) {
          const share = { app_id: sharedApp, workspace_id, user_id, role: 'editor', created_date: now } as const;
          await db.insertInto('app_shares').values(share).execute();
        }
        callers.push(bearer(await credential({ kind: 'personal_token', user_id, workspace_id })));
      }
      return callers;
    },
  };
}

const bearer = (token: string): Caller => ({ headers: { authorization: `Bearer ${token}` } });

async function makePlaces(cast: Cast, send: Send, receiverUrl: string): Promise<Record<Letter, Place>> {
  const victim = await cast.person('victim');
  const other = await cast.person('other');
  const [first, second] = [await cast.workspace(victim), await cast.workspace(other)];
  const place = async (letter: Letter, user_id: string, workspace_id: string): Promise<Place> => {
    const token = await cast.credential({ kind: 'personal_token', user_id, workspace_id });
    const mark = marker();
    const caller = { user_id } as WorkspaceAccess['caller'];
    const access = proven<WorkspaceAccess>({ caller, workspace_id, plan: 'enterprise', role: 'owner' });
    const about = { name: `App ${mark}`, user_description: mark } as const;
    const app = await insertApp(
      cast.db,
      access,
      {
        ...about,
        app_type: 'user_app',
        visibility: letter === 'a' ? 'private' : 'workspace',
        public_settings: letter === 'b' ? 'public_without_login' : 'public_with_login',
      },
      cast.now,
    );
    const agent = await insertApp(
      cast.db,
      access,
      { ...about, app_type: 'user_agent', visibility: 'private', public_settings: 'private_with_login' },
      cast.now,
    );
    const folder = await done(send, token, 'POST', '/api/app-folders', {
      name: `Folder ${letter}`,
      scope: 'workspace',
    });
    return {
      letter,
      app_id: app.id,
      agent_id: agent.id,
      folder_id: folder.id,
      workspace_id,
      marker: mark,
      token,
      receiverUrl: `${receiverUrl}/${letter}`,
      kept: {},
      live: {},
      keys: [],
      cursors: [],
      idempotencyKeys: [],
    };
  };
  return {
    a: await place('a', victim, first),
    b: await place('b', victim, first),
    c: await place('c', other, second),
  };
}

/** Counted each for themselves, 600 a minute: so many are needed. */
const appUsers = 24;
const addresses = 3_000;

async function makeKinds(cast: Cast, { a, b, c }: Record<Letter, Place>, send: Send): Promise<Kind[]> {
  const users = async (place: Place): Promise<{ caller: Caller; id: string }[]> => {
    const made: { caller: Caller; id: string }[] = [];
    for (let n = 0; n < appUsers; n += 1) {
      const path = `/api/apps/${place.app_id}/users`;
      const { id } = await done(send, place.token, 'POST', path, { email: `caller${n}@customers.example` });
      const body = { expires_in_seconds: 86_400 };
      const { token } = await done(send, place.token, 'POST', `${path}/${id}/tokens`, body);
      made.push({ caller: bearer(token), id });
    }
    return made;
  };
  const callersOf = async (place: Place) => (await users(place)).map(({ caller }) => caller);
  const [gone, ...refused] = await users(a);
  const expired = await cast.credential({
    kind: 'app_user_token',
    app_user_id: refused[0]?.id as string,
    workspace_id: a.workspace_id,
    expires_at: new Date(Date.now() - 1000),
  });
  await done(send, a.token, 'DELETE', `/api/apps/${a.app_id}/users/${gone?.id}`);
  const owner_id = (
    await cast.db.selectFrom('apps').select('owner_id').where('id', '=', b.app_id).executeTakeFirstOrThrow()
  ).owner_id;
  const limited = { workspace_id: b.workspace_id, app_ids: [b.app_id] };
  const limitedToken = await cast.credential({ kind: 'personal_token', user_id: owner_id, ...limited });
  const limitedKey = await cast.credential({ kind: 'workspace_key', scopes: keyScopes, ...limited });
  const otherOwner: Caller = bearer(c.token);
  const strangers = Array.from({ length: addresses }, (_, n) => ({
    headers: { 'x-forwarded-for': `100.64.${n >> 8}.${n & 255}` },
  }));
  const kind = (
    name: string,
    own: Kind['own'],
    role: Kind['role'],
    callers: readonly (Caller | undefined)[],
    more: Partial<Kind> = {},
  ): Kind => ({
    name,
    own,
    role,
    callers: callers.filter((caller) => caller !== undefined),
    stamp: marker(),
    entities: ['Task', 'Note'],
    weight: 2,
    ...more,
  });
  return [
    kind('app user of b', 'b', 'runtime', await callersOf(b)),
    kind('app user of c', 'c', 'runtime', await callersOf(c)),
    kind('anonymous, b being open', 'b', 'runtime', strangers, { entities: ['Note'] }),
    kind('guest with a share of b', 'b', 'editor', await cast.members(b.workspace_id, 'guest', 8, b.app_id)),
    kind('editor of the workspace', 'b', 'editor', await cast.members(b.workspace_id, 'editor', 8)),
    kind('viewer of the workspace', 'b', 'viewer', await cast.members(b.workspace_id, 'viewer', 8)),
    kind("the victim's token limited to b", 'b', 'owner', [bearer(limitedToken)]),
    kind('workspace key limited to b', 'b', 'key', [bearer(limitedKey)], { weight: 1 }),
    kind('owner and admins of another workspace', 'c', 'owner', [
      otherOwner,
      ...(await cast.members(c.workspace_id, 'admin', 11)),
    ]),
    kind(
      'app user of a whom the rules refuse',
      null,
      'runtime',
      refused.map(({ caller }) => caller),
    ),
    kind('ended token of an app user of a', null, 'runtime', [gone?.caller, bearer(expired)], { weight: 0.5 }),
  ];
}
