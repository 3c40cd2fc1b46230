// The helpers that tests of browser tests share: a World with the sandbox's model, an address at which browsers
// find its published apps, and rows that simulate runs on another worker.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeEach, expect } from 'vitest';
import { type ModelReply, startModelSandbox } from '../../../sandbox/src/model.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { newId } from '../../src/kit/ids.ts';
import { publishFiles } from './published.ts';
import { startWorld, type WorldOptions } from './world.ts';

export { temporaryUsers } from '../../src/features/app-users/index.ts';
export { listSessionsOnHost, profileOf } from '../../src/gateways/browser/session/host.ts';
export { openBrowserSessions } from '../../src/gateways/browser/session/index.ts';
export { openStorage } from '../../src/gateways/storage/index.ts';

export const chromium = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

const page = '<!doctype html><html lang="en"><head><title>Shop</title></head><body><h1>Shop</h1></body></html>';

export async function startFlowWorld({ environment, ...options }: WorldOptions = {}) {
  const model = await startModelSandbox();
  afterAll(() => model.close());
  // Serves published apps on a known port, because the server's own port is known only once it is running.
  const front = createServer((socket) => {
    const server = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.pipe(server).pipe(socket);
    for (const end of [socket, server]) end.on('error', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  afterAll(() => front.close());
  const world = await startWorld({
    ...options,
    environment: {
      BASE_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
      MODEL_URL: model.url,
      BROWSER_EXECUTABLE: chromium,
      BROWSER_NO_SANDBOX: 'true',
      ...environment,
    },
  });
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  beforeEach(() => {
    model.behave('well');
    world.clock.aheadMs = 0;
  });
  const pathOf = (app: Pick<AppRow, 'id'>, path = '') => `/api/apps/${app.id}/testing-agent${path}`;
  const call = (method: string, app: Pick<AppRow, 'id'>, path: string, sent: object = {}) =>
    world.call(method, pathOf(app, path), { as: token, ...sent });

  const createFlow = async (app: Pick<AppRow, 'id'>, body: object = {}) => {
    const got = await call('POST', app, '/flows', { body: { name: 'Order', goal: 'Order a rose.', ...body } });
    expect(got.status, got.text).toBe(200);
    return got.body;
  };
  const start = (app: Pick<AppRow, 'id'>, flow: { id: string }, more: object = {}) =>
    call('POST', app, '/executions', { body: { flow_id: flow.id, ...more } });

  return {
    model,
    world,
    owner,
    workspace,
    token,
    call,
    createFlow,
    start,
    newApp: (more: object = {}) => world.appOf(owner, workspace, more),
    async publishedApp(files: Record<string, string> = { 'dist/index.html': page }): Promise<AppRow> {
      const app = await world.appOf(owner, workspace);
      await publishFiles(world, app, files, token);
      return app;
    },
    /** Makes the model call these tools in order, then reply `Done.` */
    scriptCalls(...calls: readonly (readonly [name: string, args: object])[]): void {
      let next = 0;
      model.script((): ModelReply => {
        const [name, args] = calls[next++] ?? [];
        return name === undefined ? { text: 'Done.' } : { tool_calls: [{ name, arguments: args ?? {} }] };
      });
    },
    getExecution: async (app: Pick<AppRow, 'id'>, id: string) => (await call('GET', app, `/executions/${id}`)).body,
    job: (name: string) => {
      const job = world.app.background.jobs.find((each) => each.name === name);
      if (job === undefined) throw new Error(`no such job: ${name}`);
      return () => job.run(world.app.database.db, world.clock.now());
    },
    /** Creates a run in progress on another host: claimed, running, and with a browser whose lease has not expired. */
    async startElsewhere(app: AppRow, flow: { id: string }, { leaseSeconds = 60, host = 'elsewhere' } = {}) {
      const { body } = await start(app, flow);
      const session = newId();
      await sql`insert into browser_sessions (id, workspace_id, execution_id, host, created_date, lease_until)
        values (${session}, ${workspace}, ${body.id}, ${host}, now(), now() + make_interval(secs => ${leaseSeconds}))`.execute(
        world.db,
      );
      await sql`update test_executions set claims = 1, claimed_slot = 99, claimed_epoch = 1, started_at = now(), status = 'running',
        browser_session_id = ${session} where id = ${body.id}`.execute(world.db);
      return { id: body.id as string, session };
    },
    closeSession: (id: string) =>
      sql`update browser_sessions set closed_at = now(), close_reason = 'ended' where id = ${id}`.execute(world.db),
    findSession: (id: string) =>
      world.db.selectFrom('browser_sessions').where('id', '=', id).selectAll().executeTakeFirstOrThrow(),
    /** Lists an app's credit reservations, in order, such as `settled 3` or `released`. */
    async listCharges(app: Pick<AppRow, 'id'>): Promise<string[]> {
      const { rows } = await sql<{ state: string; charged: number | null }>`
        select state, charged from credit_reservations where app_id = ${app.id} order by id`.execute(world.db);
      return rows.map(({ state, charged }) => (state === 'settled' ? `settled ${charged}` : state));
    },
    async listAudits(app: Pick<AppRow, 'id'>): Promise<string[]> {
      const { rows } = await sql<{ type: string; actor: string }>`
        select entry->>'type' as type, entry->'actor'->>'kind' as actor
        from (select entry from audit_pending union all select entry from audit_entries) entries
        where entry->>'app_id' = ${app.id} and entry->>'type' like 'test%' order by entry->>'occurred_at', entry->>'id'`.execute(
        world.db,
      );
      return rows.map(({ type, actor }) => `${type} by ${actor}`);
    },
  };
}
