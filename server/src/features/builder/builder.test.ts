// Tests the builder chat through the API, with the sandbox's language model and a real worker
// (docs/api/builder-chat.md).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  callTools,
  listCalls,
  listMessages,
  listResults,
  page,
  say,
  startChatWorld,
  writeFile,
} from '../../../test/support/chat.ts';
import { call } from '../../../test/support/client.ts';
import { startSecondApp } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';
import { readStarter } from './starter.ts';

const chat = await startChatWorld();
const { model, world, owner, workspace, token, scriptSteps, createApp, send, streamTurn, stop } = chat;
const { getApp, getChat, putFile, readFile, listPaths, listCharges } = chat;
const ready = { state: 'ready', message: '', error_source: null };

const listAudits = async (app: { id: string }) => {
  const { rows } = await sql<{ entry: { type: string; actor: object; request_id: string; credential_id: string } }>`
    select entry from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->>'app_id' = ${app.id} order by entry->>'id'`.execute(world.db);
  return rows.map(({ entry }) => entry);
};

describe('sendChatMessage', () => {
  it('saves what the assistant wrote as one revision, shows the diff, and charges for each step', async () => {
    const app = await createApp();
    const requests = scriptSteps(
      {
        ...callTools(writeFile('public/index.html', page)),
        text: 'I begin.',
        usage: { prompt_tokens: 9_000, completion_tokens: 1_000 },
      },
      {
        ...callTools(writeFile('public/app.js', 'export const a = 1;\n')),
        usage: { prompt_tokens: 5_000, completion_tokens: 0 },
      },
      { text: 'I wrote two files.', usage: { prompt_tokens: 5_000, completion_tokens: 0 } },
    );
    const got = await send(app, 'Make a page', { headers: { 'x-request-id': 'the-request' } });
    expect(got).toMatchObject({
      status: 200,
      body: {
        app: { id: app.id, revision: app.revision + 1, status: ready },
        status: ready,
        conversation: {
          messages: [
            { role: 'user', content: 'Make a page', conversation_id: app.id, usage: null, tool_calls: [] },
            {
              role: 'assistant',
              content: 'I begin.\n\nI wrote two files.',
              model: 'house-model',
              usage: { prompt_tokens: 19_000, completion_tokens: 1_000 },
            },
          ],
        },
      },
    });
    const revisions = await world.call('GET', `/api/apps/${app.id}/revisions`, { as: token });
    expect(revisions.body.items[0]).toMatchObject({
      revision: app.revision + 1,
      cause: 'chat',
      message_id: got.body.conversation.messages[0].id,
      summary: 'Make a page',
      actor: owner.email,
      files: { added: 2, changed: 0, removed: 0 },
    });
    const shown = listCalls(got);
    expect(shown.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'write_file success',
      'write_file success',
      'check_files success',
      'check_page stopped',
      'save_revision success',
    ]);
    expect(JSON.parse(shown[4]?.arguments_string ?? '')).toMatchObject({
      revision: app.revision + 1,
      created: { count: 2, paths: ['public/index.html', 'public/app.js'] },
      changed: { count: 0 },
    });
    expect(shown[4]?.results).toContain('+++ b/public/app.js\n@@ -0,0 +1,1 @@\n+export const a = 1;');
    expect(await readFile(app, 'public/index.html')).toBe(page);
    expect(await listCharges(app)).toEqual(['settled 1', 'settled 0.5', 'settled 0.5']);
    expect(requests[2]?.messages.map(({ role }) => role).join(' ')).toBe('system user assistant tool assistant tool');
    expect(await getApp(app)).toEqual(got.body.app);
    expect(await listAudits(app)).toMatchObject([
      { type: 'app.files_changed', actor: { kind: 'user', id: owner.id }, request_id: 'the-request' },
    ]);
  });

  it('answers a question without a revision, for at least 0.5 credits', async () => {
    const app = await createApp();
    scriptSteps({ text: 'It is a task list.', usage: { prompt_tokens: 100, completion_tokens: 5 } });
    const got = await send(app, 'What is this?');
    expect(got.body).toMatchObject({ app: { revision: app.revision, status: ready }, status: ready });
    expect(listMessages(got)).toEqual(['user: What is this?', 'assistant: It is a task list.']);
    expect(listCalls(got)).toEqual([]);
    expect(await listCharges(app)).toEqual(['settled 0.5']);
    expect(await listAudits(app)).toEqual([]);
  });

  it('charges by length if the model reports no usage', async () => {
    const app = await createApp();
    scriptSteps({ text: 'Hi', usage: null });
    const got = await send(app, 'x'.repeat(100_000));
    expect(got.body.conversation.messages[1].usage).toBeNull();
    const [charge = ''] = await listCharges(app);
    expect(Number(charge.split(' ')[1])).toBeGreaterThan(2.5);
  });

  it('tells the model what became of earlier turns, and gives it the URLs of files', async () => {
    const app = await createApp();
    scriptSteps(callTools(writeFile('public/a.js', 'let a;')), say('I wrote it.'));
    await send(app, 'First');
    model.script(() => ({ tool_calls: [{ name: 'list_files', arguments: {} }] }));
    expect((await send(app, 'Second')).body.status.error_source).toBe('builder');
    const requests = scriptSteps(say());
    const body = { content: 'Third', file_urls: ['https://files.example.com/a.png'] };
    const got = await send(app, '', { body });
    expect(got.body.conversation.messages[0].file_urls).toEqual(body.file_urls);
    const given = (requests[0]?.messages ?? []).slice(1);
    expect(given.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
    expect(given[1]?.content).toContain('I wrote it.\n\n(Saved: {"revision":2');
    expect(given[3]?.content).toContain('Nothing was saved.');
    expect(given[4]?.content).toBe('Third\nAttached: https://files.example.com/a.png');
  });

  it('does not believe a call of save_revision by the model', async () => {
    const app = await createApp();
    scriptSteps(callTools(['save_revision', { revision: 99 }]), say('I saved it.'));
    expect(listCalls(await send(app))).toMatchObject([{ name: 'save_revision', status: 'error' }]);
    const requests = scriptSteps(say());
    await send(app, 'Second');
    expect(JSON.stringify(requests[0]?.messages.slice(1))).not.toContain('(Saved:');
  });

  it('says so if the assistant gives no answer', async () => {
    const app = await createApp();
    scriptSteps({ text: '' });
    const got = await send(app);
    expect(got.body.status).toEqual(ready);
    expect(listMessages(got)).toEqual([
      'user: Build it',
      'system: The assistant did not reply. Nothing was changed. Send your message again.',
    ]);
  });

  it('refuses a second message with 409 while a turn is running, and stores nothing', async () => {
    model.behave('silent');
    const app = await createApp();
    const statuses: number[] = [];
    const sent = Array.from({ length: 6 }, async (_, n) => {
      const got = await send(app, `Hello ${n}`);
      statuses.push(got.status);
      if (got.status === 409) expect(got.body).toMatchObject({ code: 'app_busy', retry_safe: true });
    });
    await expect.poll(() => statuses).toEqual(Array(5).fill(409));
    expect((await getApp(app)).status).toEqual({ state: 'processing', message: '', error_source: null });
    model.behave('well');
    await Promise.all(sent);
    expect(statuses.at(-1)).toBe(200);
    expect((await getChat(app)).items.length).toBe(2);
  });

  it('is not for agents and imported apps', async () => {
    for (const app_type of ['user_agent', 'imported_app'] as const) {
      const app = await createApp({ app_type });
      for (const [method, path] of [
        ['POST', 'message'],
        ['GET', 'full-conversation'],
        ['GET', 'events'],
        ['POST', 'stop'],
      ] as const) {
        const got = await world.call(method, `/api/apps/${app.id}/chat/${path}`, { as: token, body: { content: 'x' } });
        expect(got).toMatchObject({ status: 400, body: { code: 'app_kind_mismatch' } });
      }
    }
  });

  it('with the same Idempotency-Key follows the same turn, during it and after it, even if it failed', async () => {
    model.behave('silent');
    const app = await createApp();
    const keyed = { headers: { 'idempotency-key': 'same' } };
    const first = send(app, 'Hello', keyed);
    await expect.poll(async () => (await getChat(app)).items.length).toBe(1);
    const second = send(app, 'Hello', keyed);
    model.behave('cut');
    const [one, two] = [await first, await second];
    expect(one.body.status).toMatchObject({ state: 'error', error_source: 'model' });
    expect(two.body).toEqual(one.body);
    expect(two.headers['idempotent-replayed']).toBe('true');
    model.behave('well');
    expect((await send(app, 'Another')).body.status).toEqual(ready);
    const third = await send(app, 'Hello', keyed);
    expect(third.body.status).toEqual(one.body.status);
    expect(third.body.conversation).toEqual(one.body.conversation);
    expect(third.body.app.status).toEqual(ready);
    expect((await getChat(app)).items.length).toBe(4);
    expect(await send(app, 'Other', keyed)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
  });

  it('answers 504 after 10 minutes, and the turn continues', async () => {
    const beside = await startSecondApp(world);
    model.behave('silent');
    const app = await createApp();
    const sending = call(beside.url, 'POST', `/api/apps/${app.id}/chat/message`, {
      as: token,
      body: { content: 'Hi' },
    });
    await expect.poll(async () => (await getChat(app)).items.length).toBe(1);
    beside.clock.aheadMs = 10 * 60_000 + 1;
    expect(await sending).toMatchObject({
      status: 504,
      body: { code: 'reply_timeout', conversation_id: app.id, retry_safe: false },
    });
    model.behave('well');
    await expect.poll(async () => (await getApp(app)).status).toEqual(ready);
  });

  it('answers 404 if the app is purged while it waits', async () => {
    model.behave('silent');
    const app = await createApp();
    const sending = send(app, 'Hello');
    await expect.poll(async () => (await getChat(app)).items.length).toBe(1);
    await world.db.deleteFrom('apps').where('id', '=', app.id).execute();
    model.behave('well');
    expect(await sending).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('refuses invalid content, as agents do', async () => {
    const app = await createApp();
    for (const [body, type] of [
      [{ content: '' }, 'string_too_short'],
      [{ content: 'x'.repeat(100_001) }, 'string_too_long'],
      [{ content: 'x', file_urls: ['http://example.com/'] }, 'url_scheme'],
    ] as const)
      expect(await send(app, '', { body })).toMatchObject({ status: 422, body: { detail: [{ type }] } });
    expect((await getChat(app)).items).toEqual([]);
  });
});

describe('the stream of a turn', () => {
  it('has the message, the text, the tool calls as they start and end, and last what a plain request gets', async () => {
    const app = await createApp();
    scriptSteps({ ...callTools(writeFile('public/a.js', 'let a;')), text: 'One.' }, say('Two.'));
    const { events, ended, status } = await streamTurn(app, 'Go');
    await ended;
    expect(status).toBe(200);
    expect(events[0]).toMatchObject({ event: 'message.created', data: { role: 'user', content: 'Go' } });
    const toolCalls = events
      .filter(({ event }) => event === 'tool_call')
      .map(({ data }) => `${data.name} ${data.status}`);
    expect(toolCalls).toEqual([
      'write_file running',
      'write_file success',
      'check_files running',
      'check_files success',
      'check_page running',
      'check_page stopped',
    ]);
    const [completed, last] = events.slice(-2);
    expect(completed).toMatchObject({
      event: 'message.completed',
      data: { role: 'assistant', content: 'One.\n\nTwo.' },
    });
    const text = events.filter(({ event }) => event === 'message.delta').map(({ data }) => data.text);
    expect(text.join('')).toBe('One.\n\nTwo.');
    expect(last).toMatchObject({
      event: 'turn.completed',
      data: { status: ready, app: { revision: 2, status: ready } },
    });
    expect(last?.data.conversation.messages).toEqual((await getChat(app)).items.toReversed());
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('is resumed after Last-Event-ID, without repeating events or adding a message', async () => {
    model.behave('slow');
    scriptSteps(say('one two three'));
    const app = await createApp();
    const first = await streamTurn(app, 'Hello');
    const { id } = await first.until('message.delta');
    first.close();
    model.behave('well');
    const second = await streamTurn(app, 'Hello', { 'last-event-id': id as string });
    await second.ended;
    const texts = [...first.events, ...second.events].filter(({ event }) => event === 'message.delta');
    expect(texts.map(({ data }) => data.text).join('')).toBe('one two three');
    expect(second.events.map(({ event }) => event)).not.toContain('message.created');
    expect(second.events.at(-1)?.event).toBe('turn.completed');
    expect((await getChat(app)).items.length).toBe(2);
    const refused = { status: 422, body: { detail: [{ loc: ['header', 'Last-Event-ID'], type: 'value_error' }] } };
    for (const [content, header] of [
      ['Another', id],
      ['Hello', `${newId()}:1:1`],
      ['Hello', 'nonsense'],
    ] as const)
      expect(await send(app, content, { headers: { 'last-event-id': header as string } })).toMatchObject(refused);
    world.clock.aheadMs = 11 * 60_000;
    expect(await send(app, 'Hello', { headers: { 'last-event-id': id as string } })).toMatchObject(refused);
    expect((await getChat(app)).items.length).toBe(2);
  });
});

describe('getChat', () => {
  it('lists the messages newest first, in pages with a cursor of the caller', async () => {
    const app = await createApp();
    for (const content of ['one', 'two']) await send(app, content);
    const first = await getChat(app, '?limit=3');
    expect(first.items.map(({ content }: { content: string }) => content)).toEqual(['Hello.', 'two', 'Hello.']);
    expect(first.has_more).toBe(true);
    const rest = await getChat(app, `?limit=3&cursor=${first.next_cursor}`);
    expect(rest).toMatchObject({ items: [{ role: 'user', content: 'one' }], has_more: false, next_cursor: null });
    const at = `/api/apps/${(await createApp()).id}/chat/full-conversation?cursor=${first.next_cursor}`;
    expect(await world.call('GET', at, { as: token })).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});

describe('stopChat', () => {
  it('ends the turn at once: nothing is saved, the status is ready, and a message says so', async () => {
    const app = await createApp();
    const requests = scriptSteps(
      {
        ...callTools(writeFile('public/a.js', 'let a;')),
        text: 'I begin.',
        usage: { prompt_tokens: 20_000, completion_tokens: 0 },
      },
      () => new Promise(() => {}),
    );
    const sending = send(app, 'Hello');
    await expect.poll(() => requests.length).toBe(2);
    expect(await stop(app)).toMatchObject({ status: 200, body: { stopped: true } });
    expect((await getApp(app)).status).toEqual(ready);
    const got = await sending;
    expect(got.body).toMatchObject({ status: ready, app: { revision: app.revision } });
    expect(listMessages(got)).toEqual([
      'user: Hello',
      'assistant: I begin.',
      'system: This turn was stopped. None of its changes were saved.',
    ]);
    expect(await listPaths(app)).toEqual([]);
    const [first, second = ''] = await listCharges(app);
    expect(first).toBe('settled 2');
    expect(Number(/^settled (.*)$/.exec(second)?.[1])).toBeGreaterThan(0.2); // charged for the prompt
    // The worker has abandoned its model call, so a new turn can start.
    model.behave('well');
    scriptSteps(say('Again.'));
    expect(listMessages(await send(app, 'More'))).toEqual(['user: More', 'assistant: Again.']);
    expect(requests.length).toBe(2);
  });

  it('keeps the text that was streamed, and shows tool calls that were running as stopped', async () => {
    const app = await createApp();
    model.behave('slow');
    scriptSteps(say('one two three four five six seven'));
    const streamed = await streamTurn(app, 'Hello');
    await streamed.until('message.delta');
    const { rows } = await sql<{ id: string; claims: number }>`
      select id, claims from chat_turns where app_id = ${app.id}`.execute(world.db);
    const tool_call = { id: 'c9', name: 'check_page', arguments_string: '{}', status: 'running', results: null };
    await sql`insert into turn_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
      values (${workspace}, ${rows[0]?.id}, ${rows[0]?.claims}, 1000, ${JSON.stringify({ tool_call })}, now())`.execute(
      world.db,
    );
    expect((await stop(app)).body).toEqual({ stopped: true });
    await streamed.ended;
    const { conversation } = streamed.events.at(-1)?.data ?? {};
    expect('one two three four five six seven'.startsWith(conversation.messages[1].content)).toBe(true);
    expect(conversation.messages[1].tool_calls).toEqual([{ ...tool_call, status: 'stopped' }]);
  });

  it('is not free in the first step', async () => {
    const app = await createApp();
    const requests = scriptSteps(() => new Promise(() => {}));
    const sending = send(app);
    await expect.poll(() => requests.length).toBe(1);
    await stop(app);
    await sending;
    const [charge = ''] = await listCharges(app);
    expect(Number(/^settled (.*)$/.exec(charge)?.[1])).toBeGreaterThanOrEqual(0.5);
  });

  it('answers false and X-Changed: false if no turn is running', async () => {
    const got = await stop(await createApp());
    expect(got).toMatchObject({ status: 200, body: { stopped: false }, headers: { 'x-changed': 'false' } });
  });

  it('reaches a turn that another process runs, from any process', async () => {
    model.behave('silent');
    const app = await createApp();
    const sending = send(app);
    await expect.poll(() => model.requests.length).toBeGreaterThan(0);
    const beside = await startSecondApp(world);
    const got = await call(beside.url, 'POST', `/api/apps/${app.id}/chat/stop`, { as: token });
    expect(got.body).toEqual({ stopped: true });
    expect((await sending).body.status).toEqual(ready);
  });
});

describe('a turn that fails', () => {
  const errorOf = async (app: { id: string }, source: string) => {
    const { status } = await getApp(app);
    expect(status).toMatchObject({ state: 'error', error_source: source });
    return status.message as string;
  };

  it('saves nothing if somebody else changed a file that it changed, and names the file', async () => {
    const app = await createApp();
    await putFile(app, 'public/a.js', 'let a = 1;');
    await putFile(app, 'public/b.js', 'let b = 1;');
    scriptSteps(
      callTools(['read_file', { path: 'public/a.js' }]),
      async () => {
        await putFile(app, 'public/a.js', 'let a = 1; // mine');
        await putFile(app, 'public/b.js', 'let b = 2;');
        return callTools(
          ['edit_file', { path: 'public/a.js', old_text: 'let a = 1;', new_text: 'let a = 2;' }],
          writeFile('public/c.js', 'let c;'),
        );
      },
      say(),
    );
    const got = await send(app);
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(listMessages(got).at(-1)).toContain('system: Someone else changed public/a.js while');
    expect(await errorOf(app, 'builder')).toContain('public/a.js');
    expect(await readFile(app, 'public/a.js')).toBe('let a = 1; // mine');
    expect(await listPaths(app)).toEqual(['public/a.js', 'public/b.js']);
    expect((await getApp(app)).revision).toBe(5);
    scriptSteps(say());
    expect((await send(app)).body.app.status).toEqual(ready);
  });

  it('saves nothing if somebody else created a file, or changed an entity, that it wrote', async () => {
    const app = await createApp();
    const schema = { name: 'Task', properties: { title: { type: 'string' } }, rls: { read: true, write: false } };
    scriptSteps(callTools(writeFile('public/a.js', 'let a;'), ['save_entity', { name: 'Task', schema }]), async () => {
      await putFile(app, 'public/a.js', 'theirs');
      await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
        as: token,
        body: { name: 'Task', properties: { theirs: {} } },
      });
      return say();
    });
    const got = await send(app);
    expect(listMessages(got).at(-1)).toContain('Someone else changed public/a.js, the entity Task while');
    expect(await readFile(app, 'public/a.js')).toBe('theirs');
  });

  it.each([
    ['lost the editor role', (id: string) => sql`update memberships set role = 'viewer' where user_id = ${id}`],
    ['was blocked', (id: string) => sql`update memberships set access_state = 'blocked' where user_id = ${id}`],
    ['was removed', (id: string) => sql`delete from memberships where user_id = ${id}`],
    ['had the token revoked', (id: string) => sql`update credentials set revoked_at = now() where user_id = ${id}`],
  ])('saves nothing if the person %s meanwhile', async (_what, change) => {
    const app = await createApp();
    const editor = await world.member(workspace, 'editor', `${newId()}@example.com`);
    const as = await world.token(editor, workspace);
    const requests = scriptSteps(callTools(writeFile('public/a.js', 'let a;')), async () => {
      await change(editor.id).execute(world.db);
      return say();
    });
    const got = await send(app, 'Hello', { as });
    expect(got.status).toBe(200);
    expect(listMessages(got).at(-1)).toContain(
      'Nothing was saved because the app was deleted, or the person who sent the message lost access, signed out',
    );
    expect(await errorOf(app, 'builder')).toContain('lost access');
    expect(await listPaths(app)).toEqual([]);
    expect(requests.length).toBe(2);
  });

  it('asks nothing of the model once the person lost the role between two steps', async () => {
    const app = await createApp();
    const editor = await world.member(workspace, 'editor', `${newId()}@example.com`);
    const requests = scriptSteps(async () => {
      await sql`update memberships set role = 'viewer' where user_id = ${editor.id}`.execute(world.db);
      return callTools(writeFile('public/a.js', 'let a;'));
    });
    const got = await send(app, 'Hello', { as: await world.token(editor, workspace) });
    expect(got.body.status.error_source).toBe('builder');
    expect(requests.length).toBe(1);
  });

  it('saves nothing if the app was moved to the trash meanwhile', async () => {
    const app = await createApp();
    scriptSteps(callTools(writeFile('public/a.js', 'let a;')), async () => {
      await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
      return say();
    });
    expect((await send(app)).status).toBe(404);
    await world.call('POST', `/api/apps/${app.id}/restore`, { as: token });
    expect((await getApp(app)).status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(await listPaths(app)).toEqual([]);
  });

  it('does nothing without credits: the message is kept, and the model is not called', async () => {
    const person = await world.person(`poor-${newId()}@example.com`);
    const place = await world.workspace(person, 'business');
    await world.db.updateTable('workspaces').set({ monthly_limit: 0.4 }).where('id', '=', place).execute();
    const app = await world.appOf(person, place);
    const as = await world.token(person, place);
    const requests = scriptSteps(say());
    const got = await send(app, 'Hello', { as });
    expect(got).toMatchObject({
      status: 200,
      body: { status: { state: 'error', error_source: 'paywall' }, app: { status: { error_source: 'paywall' } } },
    });
    expect(listMessages(got)).toEqual([
      'user: Hello',
      "system: Nothing was done. The workspace doesn't have enough credits left this month. Ask the operator for more, or wait until next month.",
    ]);
    expect(requests).toEqual([]);
    expect(await listCharges(app)).toEqual([]);
  });

  it('saves nothing if the credits run out later; the steps until then stay charged', async () => {
    const person = await world.person(`poor-${newId()}@example.com`);
    const place = await world.workspace(person, 'business');
    await world.db.updateTable('workspaces').set({ monthly_limit: 3 }).where('id', '=', place).execute();
    const app = await world.appOf(person, place);
    const as = await world.token(person, place);
    scriptSteps({
      ...callTools(writeFile('public/a.js', 'let a;')),
      usage: { prompt_tokens: 40_000, completion_tokens: 0 },
    });
    const got = await send(app, 'Hello', { as });
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'paywall' });
    expect(listMessages(got).at(-1)).toContain('so nothing was saved. Steps charged before that: 1.');
    expect(await listCharges(app)).toEqual(['settled 3']);
    const files = await world.call('GET', `/api/apps/${app.id}/files`, { as });
    expect(files.body.items).toEqual([]);
  });

  it('takes more steps without credits as long as what was paid covers them', async () => {
    const person = await world.person(`poor-${newId()}@example.com`);
    const place = await world.workspace(person, 'business');
    await world.db.updateTable('workspaces').set({ monthly_limit: 0.5 }).where('id', '=', place).execute();
    const app = await world.appOf(person, place);
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    scriptSteps({ ...callTools(['list_files', {}]), usage }, { text: 'Nothing there.', usage });
    const got = await send(app, 'Hello', { as: await world.token(person, place) });
    expect(got.body.status).toEqual(ready);
    expect(await listCharges(app)).toEqual(['settled 0.5']);
  });

  it.each(['cut', 'malformed', 401, 500] as const)(
    'costs nothing if the model is unavailable (%s): the message is kept',
    async (how) => {
      model.behave(how);
      const app = await createApp();
      const got = await send(app, 'Hello');
      expect(got.body.status).toMatchObject({ state: 'error', error_source: 'model' });
      expect(listMessages(got).at(-1)).toContain('system: The language model is unavailable');
      expect((await getChat(app)).items.at(-1)).toMatchObject({ role: 'user', content: 'Hello' });
      expect(await listCharges(app)).toEqual(['released']);
    },
  );

  it('continues where it was if the model is unavailable for a moment', async () => {
    const app = await createApp();
    const requests = scriptSteps(
      callTools(writeFile('public/a.js', 'let a;')),
      () => {
        model.behave('cut');
        setTimeout(() => model.behave('well'), 300);
        return say('cut off here and there');
      },
      say('Done now.'),
    );
    const got = await send(app, 'Hello');
    expect(got.body.status).toEqual(ready);
    expect(listMessages(got)).toEqual(['user: Hello', 'assistant: Done now.']);
    expect(requests.length).toBe(3);
    expect(await listCharges(app)).toEqual(['settled 0.5']);
  });

  it('gives back what its steps cost if the model stays unavailable', async () => {
    const app = await createApp();
    scriptSteps(
      { ...callTools(writeFile('public/a.js', 'let a;')), usage: { prompt_tokens: 20_000, completion_tokens: 0 } },
      () => {
        model.behave('cut');
        return say('one two three');
      },
    );
    const got = await send(app, 'Hello');
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'model' });
    expect(await listCharges(app)).toEqual(['refunded', 'released']);
    expect(await listPaths(app)).toEqual([]);
  });

  it('is not retried and not given back if the model rejects the request as too long', async () => {
    const app = await createApp();
    const requests = scriptSteps(() => {
      setTimeout(() => model.behave(400), 0);
      return { ...callTools(['list_files', {}]), usage: { prompt_tokens: 20_000, completion_tokens: 0 } };
    });
    const got = await send(app, 'Hello');
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(listMessages(got).at(-1)).toContain(
      'system: The language model rejected the request, possibly because the conversation is too long',
    );
    expect(requests.length).toBe(1);
    expect(await listCharges(app)).toEqual(['settled 2', 'released']);
  });

  it('says that there is no model if none is configured', async () => {
    // This file's worker has a model, so the test runs the turn itself, as a worker without a model would.
    const beside = await startSecondApp(world, { environment: { MODEL_URL: '' } });
    model.behave('silent');
    const app = await createApp();
    const queue = beside.app.background.queues.find(({ name }) => name === 'chat_turns');
    const turn = {
      id: newId(),
      workspace_id: workspace,
      app_id: app.id,
      message_id: newId(),
      user_id: owner.id,
      credential_id: newId(),
      request_id: 'r',
      ip: '127.0.0.1',
    };
    const { rows } = await sql<{ id: string }>`select id from credentials where user_id = ${owner.id} limit 1`.execute(
      world.db,
    );
    const inserted = await world.db
      .insertInto('chat_turns')
      .values({
        ...turn,
        credential_id: rows[0]?.id as string,
        created_date: new Date(),
        due_at: null,
        claims: 1,
        claimed_slot: 99,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await world.db
      .insertInto('chat_messages')
      .values({
        workspace_id: workspace,
        app_id: app.id,
        position: 1,
        id: turn.message_id,
        turn_id: turn.id,
        role: 'user',
        content: 'Hi',
        created_date: new Date(),
      })
      .execute();
    const context = { db: beside.app.database.db, now: new Date(), signal: new AbortController().signal };
    expect(await queue?.run(inserted as never, context)).toEqual({});
    expect(await errorOf(app, 'model')).toBe(
      'This installation has no language model. Ask its operator to set MODEL_URL.',
    );
  });

  it('ends after 40 steps', async () => {
    const app = await createApp();
    let step = 0;
    const requests = scriptSteps(() => {
      step += 1;
      return callTools(writeFile(`public/${step}.js`, 'let a;'));
    });
    const got = await send(app);
    expect(listMessages(got).at(-1)).toContain(
      'system: The assistant did not finish within 40 steps. Nothing was saved.',
    );
    expect(requests.length).toBe(40);
    expect(await listPaths(app)).toEqual([]);
  });

  it('ends after nine minutes', async () => {
    const app = await createApp();
    scriptSteps(() => {
      world.clock.aheadMs = 9 * 60_000 + 1;
      return callTools(writeFile('public/a.js', 'let a;'));
    });
    const got = await send(app);
    expect(listMessages(got).at(-1)).toContain('system: The assistant did not finish within 9 minutes.');
    expect(await listPaths(app)).toEqual([]);
  });

  it('ends if a limit of files or the storage quota is exceeded, with the reason', async () => {
    const person = await world.person(`full-${newId()}@example.com`);
    const place = await world.workspace(person, 'business');
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 100_000 }).where('id', '=', place).execute();
    const app = await world.appOf(person, place);
    scriptSteps(callTools(writeFile('public/a.js', `let a = '${'x'.repeat(100_000)}';`)), say());
    const got = await send(app, 'Hello', { as: await world.token(person, place) });
    expect(got.body.status.error_source).toBe('builder');
    expect(listMessages(got).at(-1)).toContain(
      "system: Nothing was saved. This would exceed the workspace's storage quota.",
    );
  });
});

describe('entities at the landing', () => {
  const costly = { pattern: '(a?){150}a{150}[bc]', default: `${'a'.repeat(1_000)}b` };

  it('have each the budget of patterns with which they were accepted', async () => {
    const app = await createApp();
    const save = (name: string): [string, object] => [
      'save_entity',
      { name, schema: { name, properties: { a: { type: 'string', ...costly } } } },
    ];
    scriptSteps(callTools(...Array.from({ length: 5 }, (_, n) => save(`E${n}`))), say());
    const got = await send(app);
    expect(listCalls(got).filter(({ name, status }) => name === 'save_entity' && status === 'success').length).toBe(5);
    expect(got.body.status).toEqual(ready);
  });

  it('that are not valid any more end the turn with their faults, and nothing is given back', async () => {
    const app = await createApp();
    const schema = { name: 'Task', properties: { title: { type: 'string' } } };
    scriptSteps(
      {
        ...callTools(['save_entity', { name: 'Task', schema }]),
        usage: { prompt_tokens: 20_000, completion_tokens: 0 },
      },
      async () => {
        // Simulates a platform update. The turn is run again from its records.
        await sql`update chat_steps set record = jsonb_set(record::jsonb, '{schemas,Task,properties,title,type}', '"none"')
          where record is not null and turn_id in (select id from chat_turns where app_id = ${app.id})`.execute(
          world.db,
        );
        model.behave('cut');
        setTimeout(() => model.behave('well'), 300);
        return say('cut off here and there');
      },
      say(),
    );
    const got = await send(app);
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(listMessages(got).at(-1)).toContain(
      'Nothing was saved because an entity is not valid. Task.properties.title',
    );
    expect((await listCharges(app))[0]).toBe('settled 2');
  });
});

describe('an app without files', () => {
  it('begins with the starter, which is saved with what the assistant changes', async () => {
    const app = await world.appOf(owner, workspace);
    const requests = scriptSteps(
      callTools(['list_files', {}]),
      callTools(
        ['edit_file', { path: 'public/style.css', old_text: ':root {', new_text: ':root {\n  /* new */' }],
        ['delete_file', { path: 'public/icon.svg' }],
      ),
      say(),
    );
    const got = await send(app);
    expect(got.body.status).toEqual(ready);
    expect(listResults(requests[1])[0]).toContain('public/index.html (');
    expect(await listPaths(app)).toEqual([
      'public/app.js',
      'public/index.html',
      'public/sign-in.js',
      'public/style.css',
    ]);
    const [saved] = listCalls(got).filter(({ name }) => name === 'save_revision');
    expect(JSON.parse(saved?.arguments_string ?? '')).toMatchObject({
      revision: 2,
      created: { count: 4 },
      deleted: { count: 0 },
    });
    // The icon was deleted, but the page still loads it. The check still reports this after the assistant's round of
    // corrections.
    const checks = listCalls(got).filter(({ name }) => name === 'check_files');
    expect(checks.map(({ status }) => status)).toEqual(['error', 'error']);
    expect(checks[1]?.results).toContain('the file public/icon.svg does not exist');
  });

  it('saves a text that equals the starter if the app did not begin with it in this turn', async () => {
    const app = await createApp();
    const icon = readStarter().get('public/icon.svg') as string;
    scriptSteps(callTools(writeFile('public/icon.svg', icon)), say());
    const got = await send(app);
    expect(got.body).toMatchObject({ status: ready, app: { revision: app.revision + 1 } });
    expect(await readFile(app, 'public/icon.svg')).toBe(icon);
  });

  it('stays without files if the assistant changes nothing', async () => {
    const app = await world.appOf(owner, workspace);
    scriptSteps(callTools(['read_file', { path: 'public/app.js' }]), say('It is empty.'));
    const got = await send(app);
    expect(got.body).toMatchObject({ status: ready, app: { revision: app.revision } });
    expect(listCalls(got).map(({ name }) => name)).toEqual(['read_file']);
    expect(await listPaths(app)).toEqual([]);
  });
});

describe('createApp with initial_message', () => {
  const create = (body: object, as = token) => world.call('POST', '/api/apps', { as, body });

  it('creates the app and starts its first turn in one transaction', async () => {
    scriptSteps(callTools(writeFile('public/about.html', page)), say('I built it.'));
    const made = await create({ name: 'Tasks', initial_message: { content: 'A task list' } });
    expect(made).toMatchObject({ status: 200, body: { name: 'Tasks', status: { state: 'processing' } } });
    await expect.poll(async () => (await getApp(made.body)).status).toEqual(ready);
    expect((await getChat(made.body)).items).toMatchObject([
      { role: 'assistant', content: 'I built it.' },
      { role: 'user', content: 'A task list' },
    ]);
    expect(await readFile(made.body, 'public/about.html')).toBe(page);
  });

  it('is refused for imported apps, workspace keys and limited tokens, and then creates nothing', async () => {
    const key = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:write'],
    });
    const initial_message = { content: 'Hi' };
    expect(await create({ name: 'No', app_type: 'imported_app', initial_message })).toMatchObject({
      status: 400,
      body: { code: 'app_kind_mismatch' },
    });
    expect(await create({ name: 'No', initial_message }, key.token)).toMatchObject({
      status: 403,
      body: { code: 'workspace_key_not_allowed' },
    });
    const limited = await world.token(owner, workspace, { app_ids: [(await createApp()).id] });
    expect(await create({ name: 'No', initial_message }, limited)).toMatchObject({
      status: 403,
      body: { code: 'token_app_limited' },
    });
    expect((await world.call('GET', '/api/apps?search=No', { as: token })).body.items).toEqual([]);
    expect((await create({ name: 'Key app' }, key.token)).body.status).toEqual(ready);
  });
});

it('turns, steps and deltas are removed after their retention time; messages stay', async () => {
  const app = await createApp();
  scriptSteps(callTools(['list_files', {}]), say());
  await send(app);
  const later = new Date(Date.now() + 3 * 24 * 60 * 60 * 1000);
  for (const job of world.app.background.jobs.filter(({ name }) => /^remove old (chat turns|turn deltas)/.test(name)))
    while ((await job.run(world.app.database.db, later)) > 0);
  for (const table of ['chat_turns', 'chat_steps', 'turn_deltas']) {
    const { rows } = await sql`select 1 from ${sql.table(table)}`.execute(world.db);
    expect(rows, table).toEqual([]);
  }
  expect((await getChat(app)).items.length).toBe(2);
});
