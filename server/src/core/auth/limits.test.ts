// Tests which callers share a counter when limits are per workspace (docs/api/conventions.md#rate-limits).
import { describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../test/support/world.ts';
import { insertMembership } from '../identity/users.ts';

const world = await startWorld();
const ann = await world.person('ann@example.com');
const [first, second] = [await world.workspace(ann, 'business'), await world.workspace(ann, 'business')];
const bob = await world.member(first, 'admin', 'bob@example.com');
await insertMembership(world.db, { workspace_id: second, user_id: bob.id, role: 'admin' }, world.clock.now());

const readLeft = (header: string | undefined) => Number(/;r=(\d+)/.exec(header ?? '')?.[1]);

describe.each([
  ['listMembers', 30, 'POST', () => '/api/workspace/members/list'],
  ['removeFolderItem', 600, 'DELETE', (folder: string) => `/api/app-folders/${folder}/items/${ann.id}`],
] as const)('the limit of %s', (_name, quota, method, pathOf) => {
  async function send(headers: Record<string, string>, workspace: string): Promise<number> {
    const created = await world.call('POST', '/api/app-folders', {
      as: await world.token(ann, workspace),
      body: { name: 'F', scope: 'workspace' },
    });
    const chosen = { 'x-active-workspace-id': workspace, ...headers };
    const got = await world.call(method, pathOf(created.body.id), { headers: chosen });
    expect(got.status).toBe(200);
    return quota - readLeft(got.headers.ratelimit);
  }
  const session = (person: Person, workspace: string) => async () => send(await world.session(person), workspace);
  const token = (person: Person, workspace: string) => async () =>
    send({ authorization: `Bearer ${await world.token(person, workspace)}` }, workspace);

  it('counts the sessions of a person in one workspace together, and apart from other workspaces and people', async () => {
    const counts = [session(ann, first), session(ann, first), session(ann, second), session(bob, first)];
    const counted: number[] = [];
    for (const count of counts) counted.push(await count());
    expect(counted).toEqual([1, 2, 1, 1]);
  });

  it('counts all personal tokens of a workspace together, and apart from sessions', async () => {
    const counted: number[] = [];
    for (const count of [token(ann, first), token(bob, first), token(bob, second)]) counted.push(await count());
    expect(counted).toEqual([1, 2, 1]);
  });
});
