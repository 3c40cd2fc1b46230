// Tests `plinth queues` with the product's own queues: its output, its arguments, and what it records.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../test/support/world.ts';
import { newId } from '../kit/ids.ts';
import { operateQueues } from './queues.ts';

const world = await startWorld();
const { db } = world.app.database;
const { queues } = world.app.background;
const address = { id: newId(), email: 'owner@example.com' };

async function run(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  await operateQueues(db, queues, args, (line) => lines.push(line));
  return lines;
}
async function addMail(failed = false): Promise<string> {
  const id = newId();
  await sql`insert into reset_mails (id, email, address_id, created_date, due_at, failed_at, last_error)
    values (${id}, ${address.email}, ${address.id}, now(), ${failed ? null : sql`now()`}, ${failed ? sql`now()` : null},
      ${failed ? 'the mail server refused it' : null})`.execute(db);
  return id;
}
const listEntries = async (type: string) =>
  (await world.db.selectFrom('audit_pending').select(['workspace_id', 'entry']).orderBy('id').execute())
    .map(({ workspace_id, entry }) => ({ workspace_id, ...(entry as unknown as { type: string; after: object }) }))
    .filter((entry) => entry.type === type);

describe('the queues of the product', () => {
  it.each(queues.map((queue) => [queue.name, queue] as const))(
    '%s says whether a row is retried and cancelled by hand, or what to do instead',
    async (_name, { byHand, onDeadLetter }) => {
      expect(byHand).toBeDefined();
      for (const answer of [byHand?.retry, byHand?.cancel])
        if (answer !== true) expect(answer).toMatch(/^[A-Z].{10,}\.$/);
      // What the end of a row has changed would have to be undone.
      if (byHand?.retry === true) expect(onDeadLetter).toBeUndefined();
    },
  );

  it('are listed with their counts', async () => {
    const [head, ...lines] = await run('list');
    expect(head).toMatch(/^queue +due +running +delayed +failed/);
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(queues.map(({ name }) => name).sort());
    const [first] = await run('list', '--json');
    expect(JSON.parse(first ?? '')).toMatchObject({ queue: queues[0]?.name, due: 0, failed: 0 });
  });
});

describe('plinth queues show', () => {
  it('lists rows, and explains one of them', async () => {
    const id = await addMail();
    expect((await run('show', 'reset_mails', '--state', 'due'))[1]).toContain(id);
    expect(await run('show', 'reset_mails', '--state', 'failed')).toEqual(['nothing']);
    const lines = await run('show', 'reset_mails', id);
    expect(lines).toContain('state: due');
    expect(lines).toContain('why: No worker is running. Start one: npm run plinth -- worker');
    expect(JSON.parse((await run('show', 'reset_mails', id, '--json')).join(''))).toMatchObject({ id, state: 'due' });
    await run('cancel', 'reset_mails', id, '--reason', 'only a test');
  });

  it('refuses a queue and a row that do not exist', async () => {
    await expect(run('show', 'no_queue')).rejects.toThrow('There is no queue with this name. The queues are: ');
    await expect(run('show', 'reset_mails', newId())).rejects.toThrow('There is no row with this id in reset_mails.');
  });
});

describe('what changes a queue', () => {
  it('is recorded in the chain of the installation', async () => {
    const id = await addMail(true);
    const filter = { ids: [id] };
    expect(await run('retry', 'reset_mails', id)).toEqual(['Due again in reset_mails: 1']);
    expect(await listEntries('queue.retried')).toMatchObject([
      { workspace_id: null, target: { kind: 'queue', id: 'reset_mails' }, after: { ...filter, count: 1 } },
    ]);
    expect(await run('cancel', 'reset_mails', '--owner', address.id, '--reason', 'a test')).toEqual([
      'Cancelled in reset_mails: 1',
    ]);
    expect((await listEntries('queue.cancelled')).at(-1)).toMatchObject({
      after: { owner: address.id, reason: 'a test', count: 1 },
    });
    expect((await run('pause', 'reset_mails', '--for', '1h'))[0]).toMatch(/^reset_mails is paused until 20/);
    expect(await run('resume', 'reset_mails')).toEqual(['reset_mails is resumed']);
    expect(await run('resume', 'reset_mails')).toEqual(['reset_mails was not paused']);
    expect(await listEntries('queue.paused')).toHaveLength(1);
    expect(await listEntries('queue.resumed')).toHaveLength(1);
  });

  it('is refused with what to do instead', async () => {
    await expect(run('retry', 'webhook_deliveries', '--failed')).rejects.toThrow('Redeliver it with');
    await expect(run('cancel', 'workflow_runs', newId(), '--reason', 'x')).rejects.toThrow(
      'Cancel the run with cancelRun.',
    );
  });

  it('leaves no entry if it changes nothing', async () => {
    const before = await listEntries('queue.retried');
    expect(await run('retry', 'sign_in_mails', '--failed', '--since', '2026-01-01')).toEqual([
      'Due again in sign_in_mails: 0',
    ]);
    expect(await listEntries('queue.retried')).toEqual(before);
  });
});

it.each([
  [[], 'The verb is missing.'],
  [['drop'], "There is no verb 'drop'."],
  [['show'], 'The name of the queue is missing.'],
  [['list', 'reset_mails'], 'There are too many arguments.'],
  [['pause', 'reset_mails', newId(), '--for', '1h'], 'There are too many arguments.'],
  [['list', '--reason', 'x'], 'list does not take --reason.'],
  [['retry', 'reset_mails'], 'Name rows by their ids, or all with --failed.'],
  [['retry', 'reset_mails', newId(), '--failed'], 'Name rows by their ids, or all with --failed.'],
  [['retry', 'reset_mails', newId(), '--since', '2026-01-01'], '--owner and --since belong to --failed.'],
  [['retry', 'reset_mails', '--failed', '--since', 'soon'], '--since is a time'],
  [['retry', 'reset_mails', 'x'], 'The id of the row must be a UUID.'],
  [['cancel', 'reset_mails', '--reason', 'x'], 'Name rows by their ids'],
  [['cancel', 'reset_mails', newId(), '--reason', ' '], 'Say why, with --reason.'],
  [['pause', 'reset_mails'], 'Say for how long, with --for.'],
  [['pause', 'reset_mails', '--for', '8d'], 'at most 7d'],
  [['pause', 'reset_mails', '--for', '0m'], '--for is a time'],
  [['show', 'reset_mails', '--state', 'lost'], '--state is one of due, running, delayed, failed.'],
  [['show', 'reset_mails', '--limit', '0'], '--limit is a number from 1 to 1000.'],
  [['show', 'reset_mails', '--owner', 'x'], 'The id of the owner must be a UUID.'],
] as const)('plinth queues %j is refused: %s', async (args, message) => {
  await expect(run(...args)).rejects.toThrow(message);
});
