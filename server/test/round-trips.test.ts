// Counts the round trips to PostgreSQL that the most frequent operations take, on the wire between the product and the
// server, because a round trip costs more than the statement it carries. Measures the usual case: the caller was seen
// within the last minute, the schema is cached, and no other caller changes the same rows.
import { afterAll, expect, it } from 'vitest';
import { startDatabaseProxy } from './support/database-proxy.ts';
import { startSecondApp, startWorld } from './support/world.ts';

const direct = await startWorld();
const proxy = await startDatabaseProxy(direct.config.DATABASE_URL);
afterAll(() => proxy.close());
const world = await startSecondApp(direct, { databaseUrl: proxy.url });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
const [member, colleague] = [
  await world.member(workspace, 'editor', 'member@example.com'),
  await world.member(workspace, 'editor', 'colleague@example.com'),
];
const appPath = `/api/apps/${app.id}`;

async function call(method: string, path: string, body?: unknown) {
  const got = await world.call(method, path, { as: token, body });
  expect([method, path, got.status, got.status < 300 ? '' : got.text]).toEqual([method, path, got.status, '']);
  return got.body;
}

await call('PUT', `${appPath}/entity-schemas/Task`, { name: 'Task', properties: { title: { type: 'string' } } });
const createRecord = (title: string) => call('POST', `${appPath}/entities/Task`, { title });
const record = await createRecord('First');
const createFolder = (name: string) => call('POST', '/api/app-folders', { name });
const folder = await createFolder('Folder');
const createUser = (name: string) => call('POST', `${appPath}/users`, { email: `${name}@example.com` });
const user = await createUser('user');
const webhooks = `/api/agents/${agent.id}/webhooks`;
const target = { target_url: 'https://hooks.example.com/', events: ['message.created'] };
const webhook = await call('POST', webhooks, target);

interface Operation {
  readonly roundTrips: number;
  /** Preparation that is not measured. */
  prepare?(turn: number): Promise<{ id: string }>;
  run(turn: number, id: string): Promise<unknown>;
}

const nameTurn = (turn: number) => `turn ${turn}`;

// Changing one row takes at most 3 round trips: the lookup, the change and the commit. These numbers may decrease, but
// never increase.
const operations: Readonly<Record<string, Operation>> = {
  getApp: { roundTrips: 1, run: () => call('GET', appPath) },
  getRecord: { roundTrips: 1, run: () => call('GET', `${appPath}/entities/Task/${record.id}`) },
  listRecords: { roundTrips: 2, run: () => call('GET', `${appPath}/entities/Task`) },
  listMembers: { roundTrips: 2, run: () => call('POST', '/api/workspace/members/list', {}) },
  createRecord: { roundTrips: 2, run: (turn) => createRecord(nameTurn(turn)) },
  updateRecord: {
    roundTrips: 2,
    run: (turn) => call('PUT', `${appPath}/entities/Task/${record.id}`, { title: nameTurn(turn) }),
  },
  deleteRecord: {
    roundTrips: 3,
    prepare: (turn) => createRecord(nameTurn(turn)),
    run: (_, id) => call('DELETE', `${appPath}/entities/Task/${id}`),
  },
  updateApp: { roundTrips: 3, run: (turn) => call('PUT', appPath, { name: nameTurn(turn) }) },
  shareApp: {
    roundTrips: 3,
    run: (turn) => call('PUT', `${appPath}/shares/${colleague.email}`, { role: turn % 2 ? 'editor' : 'viewer' }),
  },
  putSecret: {
    roundTrips: 3,
    run: (turn) => call('PUT', `${appPath}/secrets/API_KEY`, { value: nameTurn(turn) }),
  },
  createFolder: { roundTrips: 3, run: (turn) => createFolder(nameTurn(turn)) },
  updateFolder: {
    roundTrips: 3,
    run: (turn) => call('PATCH', `/api/app-folders/${folder.id}`, { name: `renamed in ${nameTurn(turn)}` }),
  },
  deleteFolder: {
    roundTrips: 3,
    prepare: (turn) => createFolder(`deleted in ${nameTurn(turn)}`),
    run: (_, id) => call('DELETE', `/api/app-folders/${id}`),
  },
  createAppUser: { roundTrips: 3, run: (turn) => createUser(`created-${turn}`) },
  updateAppUser: {
    roundTrips: 3,
    run: (turn) => call('PATCH', `${appPath}/users/${user.id}`, { full_name: nameTurn(turn) }),
  },
  deleteAppUser: {
    roundTrips: 3,
    prepare: (turn) => createUser(`deleted-${turn}`),
    run: (_, id) => call('DELETE', `${appPath}/users/${id}`),
  },
  updateMemberRole: {
    roundTrips: 3,
    run: (turn) => call('PUT', `/api/workspace/members/${member.email}/role`, { role: turn % 2 ? 'editor' : 'viewer' }),
  },
  // The number does not depend on how many people are invited, because other members of the workspace wait for the
  // lock.
  inviteMembers: {
    roundTrips: 4,
    run: (turn) =>
      call('POST', '/api/workspace/invitations/bulk-invite', {
        invitations: Array.from({ length: 50 }, (_, n) => ({
          email: `invited-${turn}-${n}@example.com`,
          role: 'viewer',
        })),
      }),
  },
  createAgentWebhook: { roundTrips: 3, run: () => call('POST', webhooks, target) },
  updateAgentWebhook: {
    roundTrips: 3,
    run: (turn) => call('PATCH', `${webhooks}/${webhook.id}`, { description: nameTurn(turn) }),
  },
};

/** Returns the lowest count of several turns, to exclude round trips by other work in the process. */
async function measure({ prepare, run }: Operation): Promise<number> {
  const counts: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const { id } = (await prepare?.(turn)) ?? { id: '' };
    const before = proxy.roundTrips;
    await run(turn, id);
    counts.push(proxy.roundTrips - before);
  }
  return Math.min(...counts);
}

it.each(Object.entries(operations))('%s takes as many round trips as its budget allows', async (_, operation) => {
  expect(await measure(operation)).toBe(operation.roundTrips);
});
