// Tests what operators see of queues and do with them through the API, with the product's own queues.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { someOf } from '../../../test/support/cases.ts';
import { startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld();
const operator = await world.person('operator@example.com', { is_operator: true });
const person = await world.person('ada@customers.example');
const other = await world.person('grace@customers.example');
const headers = await world.session(operator);
const base = '/api/operator/queues';
const get = (path = '') => world.call('GET', `${base}${path}`, { headers });
const post = (path: string, body: object = {}) => world.call('POST', `${base}/${path}`, { headers, body });

async function addMail({ of = person, failedAt }: { of?: { id: string }; failedAt?: Date } = {}): Promise<string> {
  const id = newId();
  await sql`insert into reset_mails (id, user_id, created_date, due_at, failed_at, last_error)
    values (${id}, ${of.id}, now(), ${failedAt ? null : sql`clock_timestamp()`}, ${failedAt ?? null},
      ${failedAt ? `550 <${person.email}>: refused by "Ada's mailbox"` : null})`.execute(world.db);
  return id;
}
/** The owner of mails to this person, which is made from the address. */
const ownerOf = ({ email }: { email: string }) =>
  createHash('md5')
    .update(email)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
const stateOf = async (id: string) => (await get(`/reset_mails/rows/${id}`)).body.state;
/** The entries since the test began. */
const listEntries = async (type: string) =>
  (
    await world.db
      .selectFrom('audit_pending')
      .select(['workspace_id', 'entry'])
      .where('id', '>', begunAfter)
      .orderBy('id')
      .execute()
  )
    .map(({ workspace_id, entry }) => ({ workspace_id, ...(entry as unknown as { type: string; after: object }) }))
    .filter((entry) => entry.type === type);

let begunAfter = newId();
beforeEach(async () => {
  begunAfter = newId();
  await world.resetRateLimits();
  await sql`delete from reset_mails`.execute(world.db);
  await sql`delete from queue_pauses`.execute(world.db);
});

describe('listQueues', () => {
  it('lists every queue with the number of its rows in each state', async () => {
    await addMail();
    await addMail({ failedAt: new Date() });
    const { status, body } = await get();
    expect(status).toBe(200);
    expect(body.items.map(({ queue }: { queue: string }) => queue).sort()).toEqual(
      world.app.background.queues.map(({ name }) => name).sort(),
    );
    expect(body.items).toContainEqual(
      expect.objectContaining({ queue: 'reset_mails', due: 1, running: 0, failed: 1, paused_until: null }),
    );
  });

  it('has null for the rows of a queue that cannot be read in time', async () => {
    await world.db.transaction().execute(async (locking) => {
      await sql`lock table reset_mails in access exclusive mode`.execute(locking);
      const { status, body } = await get();
      expect(status).toBe(200);
      const unread = body.items.filter(({ due }: { due: number | null }) => due === null);
      expect(unread).toMatchObject([{ queue: 'reset_mails', delayed: null, oldest_seconds: null, paused_owners: 0 }]);
    });
  });
});

describe('listQueueRows', () => {
  it('lists what is due first, then what has failed, page by page', async () => {
    const due = [await addMail(), await addMail(), await addMail({ of: other })];
    const failedAt = new Date();
    const failed = [await addMail({ failedAt }), await addMail({ failedAt })].sort().reverse();
    const found: string[] = [];
    let path = '/reset_mails/rows?limit=2';
    for (let cursor: string | null = ''; cursor !== null; path = `/reset_mails/rows?limit=2&cursor=${cursor}`) {
      const { body } = await get(path);
      found.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    expect(found).toEqual([...due, ...failed]);
  });

  it('lists the rows of a state and of an owner', async () => {
    const [mine, others] = [await addMail(), await addMail({ of: other })];
    const failed = await addMail({ failedAt: new Date() });
    const listIds = async (query: string) =>
      (await get(`/reset_mails/rows?${query}`)).body.items.map(({ id }: { id: string }) => id);
    expect(await listIds('state=failed')).toEqual([failed]);
    expect(await listIds(`owner=${ownerOf(other)}`)).toEqual([others]);
    expect(await listIds(`owner=${ownerOf(person)}&state=due`)).toEqual([mine]);
    expect(await listIds(`owner=${newId()}`)).toEqual([]);
  });

  it('refuses a cursor with other filters', async () => {
    for (let n = 0; n < 2; n += 1) await addMail();
    const { body } = await get('/reset_mails/rows?limit=1');
    const got = await get(`/reset_mails/rows?limit=1&state=due&cursor=${body.next_cursor}`);
    expect(got).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('shows no content of the row, also not in the error', async () => {
    await addMail({ failedAt: new Date() });
    const { text, body } = await get('/reset_mails/rows');
    expect(body.items[0].last_error).toBe('550 <…>: refused by …');
    expect(text).not.toContain('customers.example');
  });

  it('refuses a state that does not exist', async () => {
    expect((await get('/reset_mails/rows?state=done')).status).toBe(422);
  });

  it('answers 404 for a queue that does not exist', async () => {
    const got = await get('/users/rows');
    expect(got).toMatchObject({ status: 404, body: { code: 'queue_not_found' } });
  });
});

describe('getQueueRow', () => {
  it('says why the row does not run', async () => {
    const id = await addMail();
    await post('reset_mails/pause', { owner: ownerOf(person), seconds: 3_600 });
    const { body } = await get(`/reset_mails/rows/${id}`);
    expect(body).toMatchObject({ id, owner: ownerOf(person), state: 'due', slot: null });
    expect(body.why).toEqual([
      'No worker is running. Start one: npm run plinth -- worker',
      expect.stringMatching(/^Its owner is paused until 20/),
    ]);
  });

  it.each(['00000000-0000-7000-8000-000000000000', 'nonsense'])('answers 404 for the row %s', async (id) => {
    const got = await get(`/reset_mails/rows/${id}`);
    expect(got).toMatchObject({ status: 404, body: { code: 'queue_row_not_found' } });
  });
});

describe('retryQueueRows', () => {
  it('makes failed rows due again, and records who did it', async () => {
    const [first, second] = [await addMail({ failedAt: new Date() }), await addMail({ failedAt: new Date() })];
    const got = await post('reset_mails/retry', { ids: [first] });
    expect(got).toMatchObject({ status: 200, body: { queue: 'reset_mails', retried: 1, has_more: false } });
    expect([await stateOf(first), await stateOf(second)]).toEqual(['due', 'failed']);
    expect(await listEntries('queue.retried')).toMatchObject([
      {
        workspace_id: null,
        actor: { kind: 'operator', id: operator.id },
        target: { kind: 'queue', id: 'reset_mails' },
        after: { ids: [first], count: 1 },
      },
    ]);
  });

  it('retries all failed rows, of an owner and since a time', async () => {
    const hourAgo = new Date(Date.now() - 3_600_000);
    const [old, recent] = [await addMail({ failedAt: hourAgo }), await addMail({ failedAt: new Date() })];
    const others = await addMail({ of: other, failedAt: new Date() });
    const since = new Date(Date.now() - 60_000).toISOString();
    expect((await post('reset_mails/retry', { failed: true, owner: ownerOf(person), since })).body.retried).toBe(1);
    expect([await stateOf(old), await stateOf(recent), await stateOf(others)]).toEqual(['failed', 'due', 'failed']);
    expect((await post('reset_mails/retry', { failed: true })).body.retried).toBe(2);
  });

  it('changes at most 10,000 rows, and says that there are more', async () => {
    await sql`insert into reset_mails (id, user_id, created_date, failed_at)
      select gen_random_uuid(), ${person.id}, now(), now() from generate_series(1, 10500)`.execute(world.db);
    expect((await post('reset_mails/retry', { failed: true })).body).toMatchObject({ retried: 10_000, has_more: true });
    expect((await post('reset_mails/retry', { failed: true })).body).toMatchObject({ retried: 500, has_more: false });
  });

  it('changes nothing if no row has failed', async () => {
    const got = await post('reset_mails/retry', { ids: [await addMail()] });
    expect(got).toMatchObject({ status: 200, body: { retried: 0 } });
    expect(got.headers['x-changed']).toBe('false');
    expect(await listEntries('queue.retried')).toEqual([]);
  });

  it('is refused where it would not be enough, with what to do instead', async () => {
    const got = await post('webhook_deliveries/retry', { failed: true });
    expect(got).toMatchObject({ status: 409, body: { code: 'queue_rows_not_changeable', retry_safe: true } });
    expect(got.body.instead).toContain('Redeliver it with');
  });

  it.each([
    [{}, 'must contain either ids or failed'],
    [{ ids: [newId()], failed: true }, 'must contain either ids or failed'],
    [{ ids: [newId()], owner: newId() }, 'must not contain owner or since together with ids'],
    [{ failed: true, owner: 'x' }, 'must match'],
    [{ failed: true, since: 'yesterday' }, 'must be a time'],
  ])('refuses %j', async (body, message) => {
    const got = await post('reset_mails/retry', body);
    expect(got.status).toBe(422);
    expect(got.text).toContain(message);
  });
});

describe('cancelQueueRows', () => {
  it("ends an owner's waiting rows as failed, and names those that run", async () => {
    const [waiting, running, others] = [await addMail(), await addMail(), await addMail({ of: other })];
    await sql`update reset_mails set claimed_slot = 0, claimed_epoch = 1 where id = ${running}`.execute(world.db);
    const got = await post('reset_mails/cancel', { owner: ownerOf(person), reason: 'wrong address' });
    expect(got).toMatchObject({ status: 200, body: { cancelled: 1, has_more: false, running: [running] } });
    expect([await stateOf(waiting), await stateOf(running), await stateOf(others)]).toEqual([
      'failed',
      'running',
      'due',
    ]);
    const { body } = await get(`/reset_mails/rows/${waiting}`);
    expect(body.last_error).toBe('cancelled by an operator: wrong address');
    expect(await listEntries('queue.cancelled')).toMatchObject([
      { after: { owner: ownerOf(person), reason: 'wrong address', count: 1 } },
    ]);
  });

  it('ends at most 1,000 rows, and says that there are more', async () => {
    await sql`insert into reset_mails (id, user_id, created_date, due_at)
      select gen_random_uuid(), ${person.id}, now(), now() from generate_series(1, 1010)`.execute(world.db);
    const cancel = async () => (await post('reset_mails/cancel', { owner: ownerOf(person), reason: 'x' })).body;
    expect(await cancel()).toMatchObject({ cancelled: 1_000, has_more: true });
    expect(await cancel()).toMatchObject({ cancelled: 10, has_more: false });
  });

  it('is refused where the feature has its own way', async () => {
    const got = await post('workflow_runs/cancel', { ids: [newId()], reason: 'x' });
    expect(got).toMatchObject({ status: 409, body: { instead: 'Cancel the run with cancelRun.' } });
  });

  it.each([[{ reason: 'x' }], [{ ids: [newId()], owner: newId(), reason: 'x' }], [{ ids: [newId()] }]])(
    'refuses %j',
    async (body) => {
      expect((await post('reset_mails/cancel', body)).status).toBe(422);
    },
  );
});

describe('pauseQueue and resumeQueue', () => {
  it('pause a queue until a time, and end the pause', async () => {
    const paused = await post('reset_mails/pause', { seconds: 3_600 });
    const { paused_until } = paused.body;
    expect(Math.abs(new Date(paused_until).getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect((await get()).body.items).toContainEqual(expect.objectContaining({ queue: 'reset_mails', paused_until }));
    expect((await post('reset_mails/resume')).body).toEqual({ queue: 'reset_mails', owner: null, paused_until: null });
    const again = await post('reset_mails/resume');
    expect(again.headers['x-changed']).toBe('false');
    expect(await listEntries('queue.paused')).toMatchObject([{ after: { until: paused_until } }]);
    expect(await listEntries('queue.resumed')).toHaveLength(1);
  });

  it.each([0, 604_801, 1.5])('refuse a pause of %d seconds', async (seconds) => {
    expect((await post('reset_mails/pause', { seconds })).status).toBe(422);
  });
});

describe('any body', () => {
  const value = fc.oneof(fc.constantFrom(person.id, newId(), true, null), fc.jsonValue());
  const body = fc.dictionary(
    fc.constantFrom('ids', 'failed', 'owner', 'since', 'reason', 'seconds', 'other'),
    fc.oneof(value, fc.array(value, { maxLength: 3 })),
  );

  it.each(['retry', 'cancel', 'pause', 'resume'])('of %s is answered with 200, 409 or 422', async (operation) => {
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom('reset_mails', 'agent_turns'), async (body, queue) => {
        await world.resetRateLimits();
        const { status, text } = await post(`${queue}/${operation}`, body);
        expect([200, 409, 422], text).toContain(status);
      }),
      { numRuns: someOf(32) },
    );
  });
});
