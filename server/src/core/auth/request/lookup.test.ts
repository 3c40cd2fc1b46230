// Tests that each caller gets its own result when lookups are sent together, even while other callers disconnect, and
// that every change of rights takes effect on the next request. `npm run bench -- lookups` does the same with 500
// callers, while statements fail and connections break.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWorld } from '../../../../test/support/world.ts';

let statementsForMany = 0;
const world = await startWorld({
  onStatement: (text) => {
    if (text.includes('with ordinality q(')) statementsForMany += 1;
  },
});

const workspaces = 6;
const perWorkspace = 4;

interface Caller {
  readonly token: string;
  readonly credentialId: string;
  readonly userId: string;
  readonly app: { readonly id: string; readonly name: string };
}
const callers: Caller[] = [];
for (let n = 0; n < workspaces; n += 1) {
  const owner = await world.person(`owner${n}@example.com`);
  const workspace = await world.workspace(owner);
  for (let of = 0; of < perWorkspace; of += 1) {
    const { id: user_id } = await world.member(workspace, 'admin', `caller${n}-${of}@example.com`);
    const app = await world.appOf(owner, workspace, { name: `App ${n} ${of}` });
    const mine = { kind: 'personal_token', user_id, workspace_id: workspace, permission: 'full_access' } as const;
    const { id: credentialId, token } = await world.credential(mine);
    callers.push({ token, credentialId, userId: user_id, app });
  }
}

const read = ({ token, app }: Caller, signal?: AbortSignal) =>
  world.call('GET', `/api/apps/${app.id}`, { as: token, signal });
const readAll = () => Promise.all(callers.map((caller) => read(caller)));
const ownApps = callers.map(({ app: { id, name } }) => ({ status: 200, body: { id, name } }));

beforeEach(async () => {
  await world.resetRateLimits();
  await readAll(); // makes all callers known to the process
  statementsForMany = 0;
});

it('each caller gets their own app, even while the connections of lookups are closed', async () => {
  let closed = 0;
  // On a busy machine fewer requests arrive together, so more rounds are needed.
  for (let round = 0; round < 300 && (round < 30 || statementsForMany <= 20); round += 1) {
    const answers = readAll();
    if (round % 10 === 5) {
      const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like '/* lookup */ select (%'
          and pid <> pg_backend_pid()`.execute(world.db);
      closed += rows.length;
    }
    expect(await answers).toMatchObject(ownApps);
  }
  expect(closed).toBeGreaterThan(0);
  expect(statementsForMany).toBeGreaterThan(20);
});

describe('callers that disconnect', () => {
  const isGone = (_: unknown, index: number) => index % 2 === 1;

  /** Locks a table that lookups read, so no lookup gets a response meanwhile. */
  const withLockedTable = (work: () => Promise<void>) =>
    world.db.transaction().execute(async (tx) => {
      await sql`lock table app_shares in access exclusive mode`.execute(tx);
      await work();
    });

  const countWaiting = async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '/* lookup */%'`.execute(world.db);
    return rows.length;
  };

  // Lookup statements time out after 500 ms, and their lookups are then sent separately.
  it.each([
    ['while the lookups wait', 50],
    ['while the lookups wait, and their statements then fail', 600],
  ])('change nothing for the others: %s', async (_when, lockedMs) => {
    // A disconnected caller that kept its place would delay the others: there are 16 places for lookups.
    for (let round = 0; round < 4; round += 1) {
      const disconnect = new AbortController();
      let answers: Promise<PromiseSettledResult<unknown>[]> | undefined;
      await withLockedTable(async () => {
        answers = Promise.allSettled(
          callers.map((caller, index) => read(caller, isGone(caller, index) ? disconnect.signal : undefined)),
        );
        await expect.poll(countWaiting).toBeGreaterThan(0);
        disconnect.abort();
        await sleep(lockedMs);
      });
      for (const [index, answer] of (await answers)?.entries() ?? [])
        if (isGone(answer, index)) expect(answer).toMatchObject({ reason: { name: 'AbortError' } });
        else expect(answer).toMatchObject({ value: ownApps[index] });
    }
    expect(statementsForMany).toBeGreaterThan(0);
    expect(await readAll()).toMatchObject(ownApps);
  });
});

describe('the very next request', () => {
  const first = callers[0] as Caller;
  const expectOnlyFirst = async (status: number, code: string | undefined) => {
    const [changed, ...others] = await readAll();
    expect(changed?.status).toBe(status);
    expect(changed?.body.code).toBe(code);
    expect(others).toMatchObject(ownApps.slice(1));
  };

  it('sees that the credential was revoked, and that it is valid again', async () => {
    const revoke = (revoked_at: Date | null) =>
      world.db.updateTable('credentials').set({ revoked_at }).where('id', '=', first.credentialId).execute();
    await revoke(new Date());
    await expectOnlyFirst(401, 'credentials_invalid');
    await revoke(null);
    await expectOnlyFirst(200, undefined);
  });

  it('sees that the member was blocked', async () => {
    const set = (access_state: 'active' | 'blocked') =>
      world.db.updateTable('memberships').set({ access_state }).where('user_id', '=', first.userId).execute();
    await set('blocked');
    await expectOnlyFirst(403, 'member_blocked');
    await set('active');
    await expectOnlyFirst(200, undefined);
  });

  it('sees another role', async () => {
    const rename = async () =>
      (await world.call('PUT', `/api/apps/${first.app.id}`, { as: first.token, body: { name: first.app.name } }))
        .status;
    const set = (role: 'admin' | 'viewer') =>
      world.db.updateTable('memberships').set({ role }).where('user_id', '=', first.userId).execute();
    await set('viewer');
    expect(await Promise.all([rename(), readAll().then(() => 0)])).toEqual([403, 0]);
    await set('admin');
    expect(await rename()).toBe(200);
  });
});
