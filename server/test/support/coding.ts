// The helpers that coding session tests share: a World with the sandbox's model and git host, apps with a
// connected repository, and the changes that a worker would make to a session.
import { sql } from 'kysely';
import { afterAll, beforeEach, expect } from 'vitest';
import { type GitHostSandbox, startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { type Move, moveClaimed } from '../../src/features/coding-sessions/session/session.ts';
import { newId } from '../../src/kit/ids.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export type AppId = Pick<AppRow, 'id'>;

export const repositoryName = 'acme/flower-shop';
const files = { 'README.md': '# Flower shop\n', 'total.js': 'export const total = (order) => order.sum;\n' };

export async function startCodingWorld({ environment, ...options }: WorldOptions = {}) {
  const model = await startModelSandbox();
  afterAll(() => model.close());
  const host = await startGitHost();
  afterAll(() => host.close());
  await host.addRepository({ full_name: repositoryName, files, protected: ['release'] });
  for (const branch of ['feature', 'release', 'other']) await host.commit(repositoryName, branch, { 'x.txt': branch });
  const world = await startWorld({
    ...options,
    environment: { MODEL_URL: model.url, ...hostSettings(host), ...environment },
  });
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  beforeEach(() => {
    model.behave('well');
    host.setFaults();
    world.clock.aheadMs = 0;
  });
  const sessionDeps = { wake: world.app.wake, baseUrl: world.config.BASE_URL };
  const call = (method: string, app: AppId, path: string, sent: object = {}) =>
    world.call(method, `/api/apps/${app.id}/imported${path}`, { as: token, ...sent });
  const newApp = (more: object = {}) => world.appOf(owner, workspace, { app_type: 'imported_app', ...more });
  const connect = (app: AppId, body: object = {}, more: object = {}) =>
    call('PUT', app, '/repository', {
      body: { repository_full_name: repositoryName, credentials: { token: host.token }, ...body },
      ...more,
    });
  const launch = (app: AppId, body: object = {}, key: string = newId(), more: object = {}) =>
    call('POST', app, '/sessions', {
      body: { prompt: 'Fix the total.', title: 'Fix the total', ...body },
      headers: { 'idempotency-key': key },
      ...more,
    });
  const send = (app: AppId, session: { id: string }, body: object, key: string = newId(), more: object = {}) =>
    call('POST', app, `/sessions/${session.id}/messages`, { body, headers: { 'idempotency-key': key }, ...more });
  return {
    model,
    host,
    world,
    owner,
    workspace,
    token,
    call,
    newApp,
    connect,
    launch,
    send,
    async connectedApp(): Promise<AppRow> {
      const app = await newApp();
      expect((await connect(app)).status).toBe(200);
      return app;
    },
    async launched(app: AppId, body: object = {}) {
      const got = await launch(app, body);
      expect(got.status, got.text).toBe(200);
      return got.body;
    },
    /** Lists the app's audit entries in order, such as `session.launched by user`. */
    async listAudits(app: AppId): Promise<string[]> {
      const { rows } = await sql<{ type: string; actor: string }>`
        select entry->>'type' as type, entry->'actor'->>'kind' as actor
        from (select entry from audit_pending union all select entry from audit_entries) entries
        where entry->>'app_id' = ${app.id} and entry->>'type' ~ '^(session|repository)'
        order by entry->>'occurred_at', entry->>'id'`.execute(world.db);
      return rows.map(({ type, actor }) => `${type} by ${actor}`);
    },
    /** Acts as the worker that runs a session: claims the session and makes these moves. */
    async work(session: { id: string }, ...moves: readonly Move[]) {
      const claimed = await claimSession(world, session);
      let row = claimed;
      for (const move of moves)
        row = await moveClaimed(world.app.database.db, sessionDeps, claimed, move, world.clock.now());
      return row;
    },
    sessionDeps,
  };
}

export const hostSettings = (host: GitHostSandbox) => ({ GIT_HOST_URL: host.url, GIT_HOST_CLONE_URL: host.cloneUrl });

/** Claims a session as a worker would. Returns the row that the worker would get. */
export async function claimSession(world: World, { id }: { id: string }) {
  await sql`update coding_sessions set claimed_slot = 99, claimed_epoch = 1, claims = claims + 1 where id = ${id}`.execute(
    world.db,
  );
  return world.db.selectFrom('coding_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** The columns that a move to `running` sets when the branch is ready. */
export const ready = (branch_name: string) => ({
  to: 'running' as const,
  change: { branch_id: newId(), branch_name, message_id: newId(), turn_started_at: new Date() },
});

export const question = (more: object = {}) => ({
  input_request_id: newId(),
  kind: 'question' as const,
  created_date: new Date().toISOString(),
  expires_at: new Date(Date.now() + 7 * 24 * 60 * 60_000).toISOString(),
  questions: [
    {
      question_index: 0,
      text: 'Which rate?',
      options: [
        { label: '7 %', description: 'Books.' },
        { label: '19 %', description: 'Others.' },
      ],
      multi_select: false,
      allow_custom_text: false,
    },
    {
      question_index: 1,
      text: 'Which pages?',
      options: [
        { label: 'cart', description: '' },
        { label: 'order', description: '' },
      ],
      multi_select: true,
      allow_custom_text: true,
    },
  ],
  approval: null,
  ...more,
});

export const approval = () =>
  question({
    kind: 'approval',
    questions: [],
    approval: { title: 'Delete files', description: 'They are unused.', action: 'delete_files', details: 'old.js' },
  });
