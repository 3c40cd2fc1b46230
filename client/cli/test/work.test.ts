// The commands about data, webhooks, runs, sessions and the workspace, with the real server.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { question, ready, startCodingWorld } from '../../../server/test/support/coding.ts';
import { insertFailedRun } from '../../../server/test/support/failed-runs.ts';
import { runDueRows } from '../../../server/test/support/run-queue.ts';
import { createScene } from '../../../server/test/support/workflows.ts';
import { openTerminal, problemOf } from './plinthctl.ts';

const archives = await mkdtemp(join(tmpdir(), 'plinthctl-exports-'));
const scene = await startCodingWorld({ environment: { STORAGE_FOLDER: archives } });
const { world, owner, workspace, token } = scene;
const { run, start, folder } = await openTerminal({ PLINTH_URL: world.url, PLINTH_TOKEN: token });
const app = await world.appOf(owner, workspace, { name: 'Tea shop' });
const send = async (method: string, path: string, body?: object) => {
  const got = await world.call(method, `/api/apps/${app.id}${path}`, { as: token, ...(body && { body }) });
  expect(got.status, got.text).toBe(200);
  return got.body;
};
const properties = { item: { type: 'string' }, quantity: { type: 'integer' }, tags: { type: 'array' } };
await send('PUT', '/entity-schemas/Order', { name: 'Order', properties });
await writeFile(join(folder, 'plinth.json'), JSON.stringify({ app_id: app.id, url: world.url }));
const lines = (text: string) => text.trim().split('\n');
const recordsOf = (text: string) => lines(text).map((line) => JSON.parse(line));

// Before the worker is started, which would take the session.
describe('session', () => {
  it('is launched with consent, watched until it asks, and answered', async () => {
    const imported = await scene.connectedApp();
    const named = ['--app', imported.id];
    const launch = ['session', 'launch', 'Fix the total.', '--branch', 'feature', ...named];
    expect(problemOf(await run(launch)).code).toBe('not_confirmed');
    const { json: session } = await run([...launch, '--yes']);
    expect(session).toMatchObject({ title: 'Fix the total.' });
    await scene.work(session, ready('feature'), { to: 'needs_input', input_request: question() });
    const watched = await run(['session', 'watch', ...named]);
    expect(watched.stderr).toContain('Which rate?');
    const answer = ['session', 'answer', ...named];
    expect(problemOf(await run(answer)).detail).toMatch(/Which rate\?\n {2}- 7 %/);
    const sent = await run([...answer, '--choose', '7 %', '--choose', 'cart,order']);
    expect([sent.status, sent.json.session_id]).toEqual([0, session.id]);
  });
});

describe('records', () => {
  it('are imported from CSV with the types of the schema, and exported again', async () => {
    await writeFile(
      join(folder, 'orders.csv'),
      'item,quantity,tags,colour\r\n"Tea, ""green""",2,"[1, 2]",red\r\n007,,,\r\n',
    );
    const imported = await run(['records', 'import', 'Order', 'orders.csv']);
    expect([imported.json.imported, imported.stderr]).toEqual([2, 'createRecords: colour had no effect\n']);
    const exported = recordsOf((await run(['records', 'export', 'Order'])).stdout);
    expect(exported.map(({ item, quantity, tags }) => ({ item, quantity, tags }))).toEqual(
      expect.arrayContaining([
        { item: 'Tea, "green"', quantity: 2, tags: [1, 2] },
        { item: '007', quantity: undefined, tags: undefined },
      ]),
    );
    const written = await run(['records', 'export', 'Order', 'again.csv', '--query', '{"quantity": 2}']);
    expect(written.json.exported).toBe(1);
    expect(lines(await readFile(join(folder, 'again.csv'), 'utf8'))).toEqual([
      'item,quantity,tags,id,created_date,updated_date,created_by',
      expect.stringMatching(/^"Tea, ""green""",2,"\[1,2\]",/),
    ]);
  });

  it('are imported once, although the import is interrupted and started again', async () => {
    await send('PUT', '/entity-schemas/Many', { name: 'Many', properties: { n: { type: 'integer' } } });
    const records = Array.from({ length: 3000 }, (_, n) => JSON.stringify({ n }));
    await writeFile(join(folder, 'many.ndjson'), records.join('\n'));
    const count = async () => (await send('GET', '/entities/Many/count')).count;
    const child = start(['records', 'import', 'Many', 'many.ndjson']);
    const closed = new Promise((done) => child.once('close', done));
    await expect.poll(count).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await closed;
    const before = await count();
    const again = await run(['records', 'import', 'Many', 'many.ndjson']);
    expect([again.status, await count(), before < 3000]).toEqual([0, 3000, true]);
    expect(again.stderr).toMatch(/^An earlier import stopped after \d+ records/);
  });

  it.for([
    [
      'quantity',
      'item,quantity\n"a\nb",1\nc,2.5\n',
      'Line 4 of {file}, column quantity: "2.5" is not a whole number, such as 12.',
    ],
    ['tags', 'tags\n{}\n', 'Line 2 of {file}, column tags: "{}" is not a list in JSON, such as [1, 2].'],
    [
      'cells',
      'item,quantity\na\n',
      'Line 2 of {file} has 1 cell, but the first line has 2 cells. Put cells that contain commas in double quotes.',
    ],
  ] as const)('are refused with line, column and value: %s', async ([name, content, message], { expect }) => {
    const file = `wrong-${name}.csv`;
    await writeFile(join(folder, file), content);
    const ended = await run(['records', 'import', 'Order', file]);
    expect([ended.status, problemOf(ended).detail]).toEqual([2, message.replace('{file}', file)]);
  });

  it('are not imported at all if a line of the file is wrong', async () => {
    await writeFile(join(folder, 'wrong.ndjson'), '{"item": "a"}\n{"item": \n');
    const { status, stderr } = await run(['records', 'import', 'Order', 'wrong.ndjson']);
    expect([status, stderr]).toMatchObject([2, /Line 2 of wrong.ndjson must be valid JSON/]);
    expect((await send('GET', '/entities/Order/count?q={"item":"a"}')).count).toBe(0);
  });
});

describe('webhooks', () => {
  it('list what the endpoint has not accepted, and which numbers a receiver lacks', async () => {
    await send('POST', '/webhooks', {
      mode: 'pull',
      events: ['entity.created'],
      entity_names: ['Order'],
      description: 'mine',
    });
    const tailed = run(['tail', 'deliveries', '--count', '2']);
    await expect.poll(async () => (await send('GET', '/webhooks'))[0].last_trigger_time).not.toBeNull();
    for (const item of ['one', 'two', 'three']) await send('POST', '/entities/Order', { item });
    await world.startWorker();
    const { stdout, stderr } = await tailed;
    expect(recordsOf(stdout).map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(stderr).toContain('Following the deliveries of "mine". Waiting for what comes next; Ctrl+C ends it.\n');
    await expect.poll(async () => (await run(['webhooks', 'missing'])).json.items.length).toBe(3);
    const compared = await run(['webhooks', 'missing', 'mine', '--received', '-'], { input: '2\n' });
    expect(compared.json).toMatchObject({ up_to: 3, missing: [1, 3] });
    const replayed = await run(['webhooks', 'replay', 'mine']);
    expect([replayed.status, problemOf(replayed).code]).toEqual([7, 'webhook_is_pull']);
    await send('POST', '/webhooks', { mode: 'pull', events: ['entity.created'], description: 'a second one' });
    const unclear = await run(['webhooks', 'missing']);
    expect([unclear.status, problemOf(unclear).detail]).toMatchObject([2, /^Which webhook\? .*"mine"/]);
    expect(problemOf(unclear).detail).toContain('"a second one"');
  });
});

describe('runs why', () => {
  it('names the class of the failure, the step and its error', async () => {
    const scene = createScene(world, token);
    const workflow = await scene.create(app, { name: 'Nightly' });
    const run_id = await insertFailedRun(world, app, workflow);
    const { json } = await run(['runs', 'why']);
    expect(json).toMatchObject({
      run: { run_id, workflow_name: 'Nightly' },
      failure_class: 'authentication',
      failure_step: 3,
    });
    expect((await run(['runs', 'why', run_id, '--workflow', 'Nightly'])).json.run.run_id).toBe(run_id);
    const other = await run(['runs', 'why', crypto.randomUUID()]);
    expect([other.status, problemOf(other).code]).toEqual([2, 'not_found']);
  });
});

describe('audit verify', () => {
  it('proves that the log still contains what was noted, and finds a noted entry that is no longer the same', async () => {
    await expect.poll(async () => (await run(['audit', 'verify', '--pin'])).json.last?.sequence).toBeGreaterThan(2);
    const whole = await run(['audit', 'verify', '--all']);
    expect(whole.json).toMatchObject({ whole: true, from_sequence: 1 });
    const file = join(folder, 'config/plinth/audit-pins.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/"hash": "./, '"hash": "x'));
    const broken = await run(['audit', 'verify', '--all']);
    expect([broken.status, problemOf(broken)]).toMatchObject([1, { code: 'audit_log_broken' }]);
  });
});

describe('audit verify --file', () => {
  it('checks an export, finds a changed entry, and accepts no empty one', async () => {
    const input = (await run(['call', 'exportAuditLog'])).stdout;
    const verify = (text: string) => run(['audit', 'verify', '--file', '-'], { input: text });
    expect((await verify(input)).json).toMatchObject({ whole: true, entries: lines(input).length });
    const changed = await verify(input.replace('"occurred_at":"2', '"occurred_at":"3'));
    expect([changed.status, problemOf(changed).code]).toEqual([1, 'audit_log_broken']);
    for (const text of ['', 'null\n', 'no JSON\n']) expect((await verify(text)).status).toBe(2);
    expect((await run(['audit', 'verify', '--file', 'nowhere'])).status).toBe(2);
  });
});

describe('members invite', () => {
  it('invites people by address and from CSV, and says who was not', async () => {
    await writeFile(join(folder, 'people.csv'), 'email,role\nnora@example.com,viewer\nowner@example.com,\n');
    const { json } = await run(['members', 'invite', 'tom@example.com', '--role', 'editor', '--csv', 'people.csv']);
    const invited = json.invited.map(({ email, role }: Record<string, string>) => [email, role]);
    expect(invited).toEqual(
      expect.arrayContaining([
        ['tom@example.com', 'editor'],
        ['nora@example.com', 'viewer'],
      ]),
    );
    expect(json.failed).toEqual([{ email: 'owner@example.com', code: 'member_exists' }]);
  });
});

describe('workspace export', () => {
  it('waits for the archive and writes it to a new file', async () => {
    const ended = run(['workspace', 'export', 'all.tar.gz']);
    const writing = setInterval(() => void runDueRows(world, 'workspace_exports').catch(() => undefined), 500);
    const { status, json } = await ended;
    clearInterval(writing);
    const archive = await readFile(join(folder, 'all.tar.gz'));
    expect([status, json.bytes, archive.subarray(0, 2).toString('hex')]).toEqual([0, archive.byteLength, '1f8b']);
    expect((await run(['workspace', 'export', 'all.tar.gz'])).status).toBe(2);
  });
});

describe('tail audit', () => {
  it('prints entries as they are added, until Ctrl+C', async () => {
    const child = start(['tail', 'audit', '--type', 'app.created']);
    let printed = '';
    let said = '';
    child.stderr?.on('data', (chunk) => {
      said += chunk;
    });
    child.stdout?.on('data', (chunk) => {
      printed += chunk;
    });
    const closed = new Promise((done) => child.once('close', done));
    let made = 0;
    await expect
      .poll(
        async () => {
          made += 1;
          await world.call('POST', '/api/apps', { as: token, body: { name: `Tailed ${made}` } });
          return printed;
        },
        { interval: 1000 },
      )
      .toContain('app.created');
    child.kill('SIGINT');
    expect(await closed).toBe(2);
    expect(said).toMatch(/^Following the audit log of http:.*, only app\.created\. Waiting for what comes next/);
  });
});
