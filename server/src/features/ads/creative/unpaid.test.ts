// Tests which requests for search themes and texts of ads stay counted as work of the model that nobody pays for. There
// is no worker: the tests run the session queue themselves.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { writeAdTexts } from '../../../../../sandbox/src/ad-texts.ts';
import { startModelSandbox } from '../../../../../sandbox/src/model.ts';
import { startSecondApp, startWorld, type World } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { maxUnpaidADay } from '../../../core/credits/unpaid.ts';
import { resumeSession } from './session.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const world = await startWorld({ environment: { MODEL_URL: model.url } });
const impatient = await startSecondApp(world, { assetWaitMs: 0 });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'business');
const token = await world.token(owner, workspace);

type Script = Parameters<typeof model.script>[0];
const writeTexts: Script = (request) => writeAdTexts(request) ?? {};
const answerWith = (text: string) => model.script(() => ({ text }));
beforeEach(async () => {
  model.script(writeTexts);
  await world.resetRateLimits();
});

const newApp = () => world.appOf(owner, workspace, { name: 'Harbour Coffee' });
const post = (app: AppRow, path: string, body: object, headers: Record<string, string>, on: World) =>
  on.call('POST', `/api/apps/${app.id}/ads-platform/${path}`, { as: token, body, headers });
const suggest = (app: AppRow, headers: Record<string, string> = {}) =>
  post(app, 'suggestions/search-themes', {}, headers, world);
const generate = (app: AppRow, on: World = world, headers: Record<string, string> = {}) =>
  post(app, 'assets/generate', { channel_type: 'SEARCH' }, headers, on);
const readCounted = async (app: AppRow): Promise<number> => {
  const { rows } = await sql<{ times: number }>`select times from unpaid_model_work
    where subject_id = ${app.id}`.execute(world.db);
  return rows[0]?.times ?? 0;
};
const useUp = (app: AppRow) =>
  sql`insert into unpaid_model_work (workspace_id, kind, subject_id, day, times)
    values (${workspace}, 'suggestion', ${app.id}, (now() at time zone 'UTC')::date, ${maxUnpaidADay.suggestion})`.execute(
    world.db,
  );
const refused = { status: 429, body: { code: 'rate_limited', limit: maxUnpaidADay.suggestion } };

describe('suggestSearchThemes', () => {
  it('is counted while the model works, until it is charged', async () => {
    const app = await newApp();
    const counted: number[] = [];
    model.script(async () => {
      counted.push(await readCounted(app));
      return { text: '["coffee beans"]' };
    });
    expect((await suggest(app)).body.search_themes).toEqual(['coffee beans']);
    expect([counted, await readCounted(app)]).toEqual([[1], 0]);
  });

  it('stays counted if the model gave nothing usable, but not if it refused the request', async () => {
    const app = await newApp();
    model.script(() => ({ status: 500 }));
    expect((await suggest(app)).status).toBe(200);
    expect(await readCounted(app)).toBe(0);
    answerWith('Sell more coffee.');
    await suggest(app);
    answerWith('[]');
    await suggest(app);
    expect(await readCounted(app)).toBe(2);
  });

  it('stays counted if the model was asked twice for one Idempotency-Key, but one answer was charged', async () => {
    const app = await newApp();
    let asked = 0;
    const bothAsked = Promise.withResolvers<void>();
    model.script(async () => {
      asked += 1;
      if (asked === 2) bothAsked.resolve();
      await bothAsked.promise;
      return { text: '["coffee beans"]' };
    });
    const headers = { 'idempotency-key': 'at-once' };
    await Promise.all([suggest(app, headers), suggest(app, headers)]);
    expect([asked, await readCounted(app)]).toEqual([2, 1]);
  });

  it('is not counted if the credits are not covered', async () => {
    const app = await newApp();
    const limit = world.db.updateTable('workspaces').where('id', '=', workspace);
    await limit.set({ monthly_limit: 0 }).execute();
    expect((await suggest(app)).status).toBe(402);
    await limit.set({ monthly_limit: null }).execute();
    expect(await readCounted(app)).toBe(0);
  });

  it('is refused if the number is used up, and does not ask the model', async () => {
    const app = await newApp();
    await useUp(app);
    const asked = model.requests.length;
    expect(await suggest(app)).toMatchObject(refused);
    expect(model.requests).toHaveLength(asked);
  });
});

describe('generateAssets', () => {
  const queue = world.app.background.queues.find(({ name }) => name === 'ads_asset_sessions');
  const findSession = (app: AppRow) =>
    world.db.selectFrom('ads_asset_sessions').where('app_id', '=', app.id).selectAll().executeTakeFirst();
  const waitForSession = async (app: AppRow) => {
    await expect.poll(() => findSession(app)).toBeDefined();
    return findSession(app);
  };
  /** Runs the session as a worker that has claimed it when it was like this. */
  const run = (session: object | undefined) =>
    queue?.run(session as never, {
      db: world.app.database.db,
      now: world.clock.now(),
      signal: new AbortController().signal,
    });

  it('is counted from its beginning until it is charged', async () => {
    const app = await newApp();
    const answer = generate(app);
    const session = await waitForSession(app);
    expect(await readCounted(app)).toBe(1);
    const counted: unknown[] = [];
    model.script(async (request) => {
      counted.push(await readCounted(app), (await findSession(app))?.has_called_model);
      return writeTexts(request);
    });
    await run(session);
    expect((await answer).status).toBe(200);
    expect([counted, await readCounted(app)]).toEqual([[1, true], 0]);
  });

  it('does not stay counted if no worker has asked the model in time, and the model is not asked later', async () => {
    const app = await newApp();
    expect((await generate(app, impatient)).status).toBe(503);
    expect(await readCounted(app)).toBe(0);
    const asked = model.requests.length;
    await run({ ...(await findSession(app)), state: 'writing' });
    expect(model.requests).toHaveLength(asked);
    expect(await readCounted(app)).toBe(0);
  });

  it('stays counted if the model was asked, but gave nothing usable or not in time', async () => {
    const [vague, late] = [await newApp(), await newApp()];
    const answer = generate(vague);
    answerWith('Sell more coffee.');
    await run(await waitForSession(vague));
    expect([(await answer).status, await readCounted(vague)]).toEqual([503, 1]);
    const headers = { 'idempotency-key': 'late' };
    const first = generate(late, world, headers);
    model.script(async (request) => {
      expect((await generate(late, impatient, headers)).status).toBe(503);
      return writeTexts(request);
    });
    await run(await waitForSession(late));
    expect([(await first).status, await readCounted(late)]).toEqual([503, 1]);
  });

  it('does not stay counted if the model refused the request, unless an earlier worker had asked it', async () => {
    const [app, crashed] = [await newApp(), await newApp()];
    model.script(() => ({ status: 500 }));
    const answer = generate(app);
    await run(await waitForSession(app));
    expect([(await answer).status, await readCounted(app)]).toEqual([503, 0]);
    const second = generate(crashed);
    await run({ ...(await waitForSession(crashed)), has_called_model: true });
    expect([(await second).status, await readCounted(crashed)]).toEqual([503, 1]);
  });

  it('does not stay counted if the worker gave up before it asked the model', async () => {
    const app = await newApp();
    const answer = generate(app);
    const session = await waitForSession(app);
    await queue?.onDeadLetter?.(world.app.database.db, session as never, 'the database was unreachable');
    expect([(await answer).status, await readCounted(app)]).toEqual([503, 0]);
  });

  it('does not stay counted if the process that waits shuts down while the model is asked', async () => {
    const app = await newApp();
    const { db, clock, wake } = { ...world.app.database, ...world, ...world.app };
    const deps = { clock, wake, shutdownSignal: AbortSignal.abort(), assetWaitMs: undefined };
    const answer = generate(app);
    const session = await waitForSession(app);
    model.script(async (request) => {
      const other = await resumeSession(db, deps as never, { app } as never, { session_id: session?.id }, clock.now());
      await expect(other.finish?.(db)).rejects.toThrow('Nothing was generated or charged');
      return writeTexts(request);
    });
    await run(session);
    expect([(await answer).status, await readCounted(app)]).toEqual([503, 0]);
  });

  it('is counted again if a failed session begins again', async () => {
    const app = await newApp();
    const headers = { 'idempotency-key': 'again' };
    await generate(app, impatient, headers);
    const answer = generate(app, world, headers);
    await expect.poll(async () => (await findSession(app))?.state).toBe('writing');
    expect(await readCounted(app)).toBe(1);
    await run(await findSession(app));
    expect([(await answer).status, await readCounted(app)]).toEqual([200, 0]);
  });

  it('waits for a failed session that is locked, without holding the counter', async () => {
    const app = await newApp();
    const headers = { 'idempotency-key': 'locked' };
    await generate(app, impatient, headers);
    const { answer } = await world.db.transaction().execute(async (db) => {
      await sql`select from ads_asset_sessions where app_id = ${app.id} for update`.execute(db);
      const answer = generate(app, world, headers);
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await waiting.execute(world.db)).rows.length).toBe(1);
      await sql`update unpaid_model_work set times = times + 1 where subject_id = ${app.id}`.execute(db);
      return { answer };
    });
    await expect.poll(async () => (await findSession(app))?.state).toBe('writing');
    await run(await findSession(app));
    expect((await answer).status).toBe(200);
  });

  it('is refused if the number is used up, and reserves nothing', async () => {
    const app = await newApp();
    await useUp(app);
    expect(await generate(app)).toMatchObject(refused);
    expect(await findSession(app)).toBeUndefined();
    const reservations = world.db.selectFrom('credit_reservations').where('app_id', '=', app.id).selectAll();
    expect(await reservations.execute()).toEqual([]);
  });
});
