// Tests automation runs end to end: records change, workers run the automations, and a real endpoint receives requests
// over TLS.
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startAutomationScene } from '../../../test/support/automation-scene.ts';
import { publish, recordEvent } from '../../../test/support/webhook-receiver.ts';
import { removeDispatchedEvents } from '../../kit/background/events/event-bus.ts';
import { takeAdvisoryLock, transaction } from '../../kit/db/database.ts';

const mail = await startMailSandbox();
const { world, workspace, owner, call, url, createAutomation, createApp } = await startAutomationScene({
  environment: { SMTP_URL: mail.smtpUrl },
});
await world.startWorker();
afterAll(() => mail.close());

const secretOf = (app: { id: string }, name: string, value: string) =>
  call('PUT', `/api/apps/${app.id}/secrets/${name}`, { value });

async function typesOf(id: string): Promise<string[]> {
  const { rows } = await sql<{ type: string }>`
    select entry->>'type' as type from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->'target'->>'id' = ${id} order by entry->>'id'`.execute(world.db);
  return rows.map((row) => row.type);
}

describe('an automation of records', () => {
  it('sends the event, with the id of the run as its Idempotency-Key', async () => {
    const automation = await createAutomation();
    const order = await automation.order({ total: 7 });
    await automation.waitForEnd();
    const [run] = await automation.listRuns();
    const [received] = automation.received();
    expect(received).toMatchObject({
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Plinth-Automations/1',
        'idempotency-key': run.id,
      },
    });
    expect(JSON.parse(received?.body ?? '')).toMatchObject({
      id: run.event_id,
      type: 'entity.created',
      app_id: automation.app.id,
      entity_name: 'Order',
      entity_id: order.id,
      data: { total: 7 },
      old_data: null,
      depth: 0,
    });
    expect(received?.body).not.toContain('credential_id');
    expect(await automation.get()).toMatchObject({ last_run_at: expect.any(String), last_error: null });
  });

  it('reacts only to the changes, the entity and the records that it names', async () => {
    const automation = await createAutomation({ event_types: ['update', 'delete'], condition: '.data.total > 5' });
    const small = await automation.order({ total: 1 });
    const records = `/api/apps/${automation.app.id}/entities/Order`;
    await call('PUT', `${records}/${small.id}`, { total: 5 });
    await call('PUT', `${records}/${small.id}`, { total: 6 });
    await call('POST', `/api/apps/${automation.app.id}/entities/User`, { email: 'a@example.com' });
    await automation.waitForEnd(2);
    expect(automation.received().map(({ body }) => JSON.parse(body).data.total)).toEqual([6]);
  });

  it('keeps its event in the log until the run has ended, and no longer', async () => {
    const automation = await createAutomation();
    const removeEvents = () =>
      removeDispatchedEvents(world.db, world.app.background.eventNeededIf ?? [], new Date(Date.now() + 60 * 60_000));
    const isInLog = async (id: string) =>
      (await sql`select from events where id = ${id}`.execute(world.db)).rows.length === 1;
    await transaction(world.db, async (db) => {
      await takeAdvisoryLock(db, 'claim automation_runs');
      await automation.order({ total: 7 });
      await expect.poll(automation.listRuns).toHaveLength(1);
      await removeEvents();
    });
    await automation.waitForEnd();
    const [run] = await automation.listRuns();
    expect(automation.received().map(({ body }) => JSON.parse(body).data.total)).toEqual([7]);
    expect(await isInLog(run.event_id)).toBe(true);
    await removeEvents();
    expect(await isInLog(run.event_id)).toBe(false);
  });

  it('does nothing while it is off, and drops what waits when it is turned off', async () => {
    const automation = await createAutomation();
    await transaction(world.db, async (db) => {
      await takeAdvisoryLock(db, 'claim automation_runs');
      await automation.order();
      await expect.poll(automation.listRuns).toHaveLength(1);
      await automation.patch({ is_active: false });
    });
    await automation.waitForEnd();
    await automation.order();
    expect(automation.received()).toEqual([]);
    expect(await automation.listRuns()).toHaveLength(1);
    expect(await automation.get()).toMatchObject({ last_run_at: null });
  });

  it('does nothing once it is deleted, or its workspace is', async () => {
    const [deleted, inTrash] = [await createAutomation(), await createAutomation()];
    await transaction(world.db, async (db) => {
      await takeAdvisoryLock(db, 'claim automation_runs');
      await deleted.order();
      await inTrash.order();
      await expect.poll(async () => [...(await deleted.listRuns()), ...(await inTrash.listRuns())]).toHaveLength(2);
      await call('DELETE', deleted.path);
      await call('DELETE', `/api/apps/${inTrash.app.id}`);
    });
    await deleted.waitForEnd();
    await inTrash.waitForEnd();
    expect([...deleted.received(), ...inTrash.received()]).toEqual([]);
  });

  it('is turned off at its next run under a plan without workflows', async () => {
    const automation = await createAutomation();
    await world.db.updateTable('workspaces').set({ plan: 'free' }).where('id', '=', workspace).execute();
    await automation.order();
    await automation.waitForEnd();
    await world.db.updateTable('workspaces').set({ plan: 'enterprise' }).where('id', '=', workspace).execute();
    expect(await automation.get()).toMatchObject({
      is_active: false,
      last_error: "The workspace's plan doesn't include automations.",
    });
    expect(automation.received()).toEqual([]);
    expect(await typesOf(automation.id)).toContain('automation.disabled');
  });
});

describe('a request', () => {
  it('has the headers with secrets inserted and the body that the expression says', async () => {
    const headers = { Authorization: 'Bearer {{secrets.TOKEN}}', 'X-Both': '{{ secrets.TOKEN }}-{{secrets.OTHER}}' };
    const automation = await createAutomation({}, { headers, body: '{order: .entity_id, twice: (.data.total * 2)}' });
    await secretOf(automation.app, 'TOKEN', 'ABC$&123');
    await secretOf(automation.app, 'OTHER', 'other');
    const order = await automation.order({ total: 21 });
    await automation.waitForEnd();
    const [received] = automation.received();
    expect(received?.headers).toMatchObject({ authorization: 'Bearer ABC$&123', 'x-both': 'ABC$&123-other' });
    expect(JSON.parse(received?.body ?? '')).toEqual({ order: order.id, twice: 42 });
  });

  it('without its secret is not sent, and the error names the secret', async () => {
    const automation = await createAutomation({}, { headers: { 'X-A': '{{secrets.MISSING}}' } });
    await automation.order();
    await expect
      .poll(async () => (await automation.get()).last_error)
      .toBe('The app has no secret named MISSING. Add it first.');
    expect(automation.received()).toEqual([]);
    await secretOf(automation.app, 'MISSING', 'now it is there');
    await automation.makeDueNow();
    await automation.waitForEnd();
    expect(automation.received()).toHaveLength(1);
    expect(await automation.get()).toMatchObject({ last_error: null, consecutive_failures: 0 });
  });

  it('with a secret that no header can hold fails without showing it', async () => {
    const automation = await createAutomation({}, { headers: { 'X-A': '{{secrets.LINES}}' } });
    await secretOf(automation.app, 'LINES', 'very\r\nsecret');
    await automation.order();
    await expect
      .poll(async () => (await automation.get()).last_error)
      .toBe("A header can't be sent because a secret in it contains characters not allowed in headers.");
    expect(automation.received()).toEqual([]);
  });

  it('is attempted three times with the same key, and then counts as one failure', async () => {
    const automation = await createAutomation();
    automation.respondWith(() => ({ status: 500, body: 'secret-of-the-receiver' }));
    await automation.order();
    await expect.poll(automation.received).toHaveLength(1);
    await expect.poll(async () => (await automation.listRuns())[0]).toMatchObject({ attempts: 1, claimed_slot: null });
    const inMs = async () => (await automation.listRuns())[0].due_at.getTime() - Date.now();
    expect(await inMs()).toBeGreaterThan(50_000);
    expect(await inMs()).toBeLessThanOrEqual(60_000);
    expect(await automation.get()).toMatchObject({
      last_error: 'The endpoint responded with status 500.',
      consecutive_failures: 0,
    });
    await automation.makeDueNow();
    await expect.poll(async () => (await automation.listRuns())[0]).toMatchObject({ attempts: 2, claimed_slot: null });
    expect(await inMs()).toBeGreaterThan(590_000);
    await automation.makeDueNow();
    await automation.waitForEnd();
    expect(new Set(automation.received().map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(automation.received()).toHaveLength(3);
    expect(await automation.get()).toMatchObject({ consecutive_failures: 1, is_active: true });
    const [row] = await automation.listRuns();
    expect(row).toMatchObject({
      error_message: 'The endpoint responded with status 500.',
      failed_at: null,
      due_at: null,
    });
    expect(JSON.stringify([row, await automation.get()])).not.toContain('secret-of-the-receiver');
  });

  it('is not redirected, and not sent to an address that became private', async () => {
    const moved = await createAutomation();
    moved.respondWith(() => ({ status: 302, headers: { location: url('/followed') } }));
    await moved.order();
    await expect.poll(async () => (await moved.get()).last_error).toBe('The endpoint responded with status 302.');
    const inside = await createAutomation();
    await sql`update automations set action = jsonb_set(action, '{url}', '"https://inner.outside.test/"')
      where id = ${inside.id}`.execute(world.db);
    await inside.order();
    await expect
      .poll(async () => (await inside.get()).last_error)
      .toBe('The endpoint does not resolve to a public address.');
  });
});

describe('an expression', () => {
  it('that fails makes the run fail at once, and says why', async () => {
    const automation = await createAutomation({ condition: '.data.total | error("too \\(.)")' });
    await automation.order({ total: 3 });
    await automation.waitForEnd();
    expect(await automation.get()).toMatchObject({
      last_error: expect.stringContaining('The condition expression failed: '),
      consecutive_failures: 1,
    });
    expect((await automation.get()).last_error).toContain('too 3');
    expect(automation.received()).toEqual([]);
  });

  it('that never ends is stopped', async () => {
    const automation = await createAutomation({ condition: 'last(range(1e12))' });
    await automation.order();
    await automation.waitForEnd();
    expect(await automation.get()).toMatchObject({ last_error: expect.stringContaining('250 ms') });
  });
});

describe('failures', () => {
  const failTimes = (id: string, consecutive_failures: number) =>
    world.db.updateTable('automations').set({ consecutive_failures }).where('id', '=', id).execute();

  it('turn the automation off at 20, with an audit entry and a mail to the owner', async () => {
    const automation = await createAutomation({ name: 'Tell\nsales', condition: 'error("no")' });
    await failTimes(automation.id, 18);
    await automation.order();
    await automation.waitForEnd(1);
    expect(await automation.get()).toMatchObject({ is_active: true, consecutive_failures: 19 });
    await automation.order();
    await automation.waitForEnd(2);
    expect(await automation.get()).toMatchObject({ is_active: false, consecutive_failures: 20 });
    expect(await typesOf(automation.id)).toEqual(['automation.created', 'automation.disabled']);
    await expect
      .poll(() => mail.inbox.filter((message) => message.text.includes(automation.id)))
      .toMatchObject([{ to: [owner.email], subject: 'The automation "Tell sales" was turned off' }]);
    await automation.patch({ is_active: true, condition: null });
    await automation.order();
    await automation.waitForEnd(3);
    expect(await automation.get()).toMatchObject({ is_active: true, consecutive_failures: 0, last_error: null });
  });

  it('do not undo a change that a person makes at the same moment', async () => {
    const automation = await createAutomation();
    await failTimes(automation.id, 19);
    const answered = Promise.withResolvers<void>();
    automation.respondWith(() => ({ status: 500, until: answered.promise }));
    await transaction(world.db, async (db) => {
      await takeAdvisoryLock(db, 'claim automation_runs');
      await automation.order();
      await expect.poll(automation.listRuns).toHaveLength(1);
      await sql`update automation_runs set attempts = 2 where automation_id = ${automation.id}`.execute(db);
    });
    await expect.poll(automation.received).toHaveLength(1);
    await automation.patch({ is_active: true, name: 'Renamed' }); // resets the failure count
    answered.resolve();
    await automation.waitForEnd();
    expect(await automation.get()).toMatchObject({ is_active: true, name: 'Renamed', consecutive_failures: 1 });
  });
});

describe('a loop', () => {
  it('ends at a depth of 5, and is audited once a minute', async () => {
    const automation = await createAutomation({ event_types: ['update'] });
    const other = await createApp();
    for (const depth of [5, 6, 6, 7]) await publish(world, 'entity.updated', { ...recordEvent(automation.app), depth });
    await publish(world, 'entity.updated', { ...recordEvent(other), depth: 9 });
    await automation.waitForEnd();
    expect(automation.received().map(({ body }) => JSON.parse(body).depth)).toEqual([5]);
    await expect.poll(() => typesOf(automation.id)).toEqual(['automation.created', 'automation.loop_stopped']);
  });
});

describe('a worker that is killed', () => {
  it('during a request makes the next one send it again with the same key', async () => {
    const automation = await createAutomation();
    let answers = 0;
    automation.respondWith(() => (answers++ === 0 ? 'silence' : {}));
    await automation.order();
    await expect.poll(automation.received).toHaveLength(1);
    // Simulates recovery from a worker crash: the claim is released, and the old run's result is ignored.
    await sql`update automation_runs set claimed_slot = null, claimed_epoch = null, crash_count = crash_count + 1
      where automation_id = ${automation.id}`.execute(world.db);
    world.app.wake.notify('automation_runs');
    await automation.waitForEnd();
    const keys = automation.received().map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(await automation.get()).toMatchObject({ last_error: null, consecutive_failures: 0 });
  });
});

describe('many records at once', () => {
  it('make one run each, of which at most five of an app take place at once', async () => {
    const automation = await createAutomation();
    let [running, most] = [0, 0];
    automation.respondWith(() => {
      running += 1;
      most = Math.max(most, running);
      const until = new Promise<void>((resolve) => setTimeout(resolve, 30)).then(() => {
        running -= 1;
      });
      return { until };
    });
    const records = Array.from({ length: 60 }, (_, total) => ({ total }));
    await call('POST', `/api/apps/${automation.app.id}/entities/Order/bulk`, records);
    await automation.waitForEnd(60);
    const totals = automation.received().map(({ body }) => JSON.parse(body).data.total);
    expect(totals.toSorted((a, b) => a - b)).toEqual(records.map(({ total }) => total));
    expect(most).toBeLessThanOrEqual(5);
  });
});

describe('old runs', () => {
  it('are removed a week after they ended', async () => {
    const [old, recent] = [await createAutomation(), await createAutomation()];
    for (const automation of [old, recent]) {
      await automation.order();
      await automation.waitForEnd();
    }
    await sql`update automation_runs set completed_at = now() - interval '7 days 1 minute'
      where automation_id = ${old.id}`.execute(world.db);
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old automation runs');
    await job?.run(world.app.database.db, world.clock.now());
    expect(await old.listRuns()).toEqual([]);
    expect(await recent.listRuns()).toHaveLength(1);
  });
});
