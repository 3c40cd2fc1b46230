// Owns the stage of the drill: a database of its own, the API and a worker as processes, an endpoint that webhooks deliver
// to, two workspaces with three apps, and everybody who calls.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freshDatabase, killed, start } from '../../bench/lib/services.ts';
import { type Heard, startHookSandbox } from '../../sandbox/src/hooks.ts';
import { createApp } from '../../server/src/app.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { readConfig } from '../../server/src/config.ts';
import { issueProof } from '../../server/src/core/auth/issue-proof.ts';
import type { WorkspaceAccess } from '../../server/src/core/auth/proofs.ts';
import type { Route } from '../../server/src/core/auth/route.ts';
import { insertApp } from '../../server/src/core/identity/apps.ts';
import { createLog } from '../../server/src/kit/log.ts';
import type { Db } from '../../server/src/tables.ts';
import { makeKinds } from './callers.ts';
import { type Cast, casting, marker } from './cast.ts';
import { clientOf, done, type Send } from './client.ts';
import type { Kind, Letter } from './kinds.ts';
import { fill, type Place } from './place.ts';

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

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
  const api = await start(file('../../bench/pipeline/served.ts'), env);
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

async function makePlaces(cast: Cast, send: Send, receiverUrl: string): Promise<Record<Letter, Place>> {
  const victim = await cast.person('victim');
  const other = await cast.person('other');
  const [first, second] = [await cast.workspace(victim), await cast.workspace(other)];
  const place = async (letter: Letter, user_id: string, workspace_id: string): Promise<Place> => {
    const token = await cast.credential({ kind: 'personal_token', user_id, workspace_id });
    const mark = marker();
    const caller = { user_id } as WorkspaceAccess['caller'];
    const access = issueProof<WorkspaceAccess>({ caller, workspace_id, plan: 'enterprise', role: 'owner' });
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
      owner_id: user_id,
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
