// Tests agents through the API, with the sandbox's language model and a real worker. docs/api/agents.md#send-a-message
// lists the cases for sendAgentMessage.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../../sandbox/src/model.ts';
import { type CallOptions, call, stream } from '../../../test/support/client.ts';
import { type Person, startSecondApp, startWorld } from '../../../test/support/world.ts';
import { reserve } from '../../core/credits/reservations.ts';
import { newId } from '../../kit/ids.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const world = await startWorld({ environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model' } });
await world.startWorker();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);

beforeEach(() => {
  model.behave('well');
  model.script(() => ({ text: 'Good morning to you.', usage: { prompt_tokens: 30_000, completion_tokens: 5_000 } }));
  world.clock.aheadMs = 0;
});

const createAgent = async (body: object = {}, as = token): Promise<string> =>
  (await world.call('POST', '/api/agents', { as, body: { name: 'Helper', ...body } })).body.id;
const createConversation = async (agentId: string, as = token): Promise<string> =>
  (await world.call('POST', `/api/agents/${agentId}/conversations`, { as })).body.id;
/** Creates an agent with an empty conversation and returns its path. */
const createChat = async (body: object = {}, as = token): Promise<string> => {
  const agentId = await createAgent(body);
  return `/api/agents/${agentId}/conversations/${await createConversation(agentId, as)}`;
};
const send = (path: string, content: string, sent: CallOptions = {}) =>
  world.call('POST', `${path}/messages`, { as: token, body: { content }, ...sent });
const streamReply = (path: string, content: string, headers: Record<string, string> = {}, as = token) =>
  stream(world.url, `${path}/messages`, { as, body: { content }, headers });
const read = async (path: string, query = '', as = token) => (await world.call('GET', `${path}${query}`, { as })).body;
const listContents = async (path: string): Promise<string[]> =>
  (await read(path)).messages.map(
    (message: { role: string; content: string }) => `${message.role}: ${message.content}`,
  );
const idIn = (path: string): string => path.split('/').at(-1) as string;

const eventsOf = async (path: string) => {
  const { rows } = await sql<{ name: string; payload: { data: { message: { role: string; content: string } } } }>`
    select name, payload from events where payload->>'conversation_id' = ${idIn(path)} order by id`.execute(world.db);
  return rows.map(({ name, payload }) => `${name} ${payload.data.message.role}`);
};
const reservationsOf = async (path: string): Promise<{ state: string; charged: number | null }[]> => {
  const { rows } = await sql<{ state: string; charged: number | null }>`
    select r.state, r.charged from credit_reservations r where r.reference_id in (
      select message_id::text from agent_turns where conversation_id = ${idIn(path)}) order by r.id`.execute(world.db);
  return rows;
};

describe('agents', () => {
  it('are apps with instructions and a model: created, read, changed, listed, deleted and restored', async () => {
    const body = { name: ' Guide ', description: 'Shows the way', instructions: 'Be kind.', model: 'small' };
    const made = await world.call('POST', '/api/agents', { as: token, body });
    expect(made).toMatchObject({
      status: 200,
      body: {
        name: 'Guide',
        app_type: 'user_agent',
        user_description: 'Shows the way',
        instructions: 'Be kind.',
        model: 'small',
        owner_email: owner.email,
        deleted_date: null,
      },
    });
    const { id } = made.body;
    const at = `/api/agents/${id}`;
    expect((await world.call('GET', at, { as: token })).body).toEqual(made.body);
    const changed = await world.call('PATCH', at, { as: token, body: { instructions: 'Be brief.', model: null } });
    expect(changed.body).toMatchObject({ name: 'Guide', instructions: 'Be brief.', model: null });
    expect((await world.call('GET', '/api/agents?search=guid', { as: token })).body).toMatchObject({
      items: [{ id, instructions: 'Be brief.' }],
      has_more: false,
    });
    const { rows } = await sql<{ entry: { before: object; after: object } }>`
      select entry from (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->>'app_id' = ${id} and entry->>'type' = 'app.updated'`.execute(world.db);
    expect(rows[0]?.entry).toMatchObject({
      before: { instructions: 'Be kind.', model: 'small' },
      after: { instructions: 'Be brief.', model: null },
    });
    expect((await world.call('DELETE', at, { as: token })).body).toEqual({ success: true });
    expect(await world.call('GET', at, { as: token })).toMatchObject({
      status: 404,
      body: { code: 'agent_not_found' },
    });
    expect((await world.call('POST', `/api/apps/${id}/restore`, { as: token })).status).toBe(200);
    expect((await world.call('GET', at, { as: token })).body.instructions).toBe('Be brief.');
  });

  it('keep both changes when two callers change different fields at the same time', async () => {
    const id = await createAgent({ name: 'Both' });
    for (let round = 0; round < 8; round += 1) {
      const change = (body: object) => world.call('PATCH', `/api/agents/${id}`, { as: token, body });
      await Promise.all([change({ instructions: `I${round}` }), change({ model: `m${round}` })]);
      const { body } = await world.call('GET', `/api/agents/${id}`, { as: token });
      expect(body).toMatchObject({ instructions: `I${round}`, model: `m${round}` });
    }
  });

  it('are listed in pages, with a cursor bound to the query', async () => {
    for (const name of ['Page one', 'Page two', 'Page three']) await createAgent({ name });
    const first = (await world.call('GET', '/api/agents?search=page&sort=name&limit=2', { as: token })).body;
    expect(first.items.map((item: { name: string }) => item.name)).toEqual(['Page one', 'Page three']);
    const next = `/api/agents?search=page&sort=name&limit=2&cursor=${first.next_cursor}`;
    expect((await world.call('GET', next, { as: token })).body.items).toMatchObject([{ name: 'Page two' }]);
    const other = await world.call('GET', `/api/agents?cursor=${first.next_cursor}`, { as: token });
    expect(other).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it("created as plain apps have no instructions and use the installation's model", async () => {
    const bare = await world.appOf(owner, workspace, { app_type: 'user_agent', name: 'Bare' });
    const got = await world.call('GET', `/api/agents/${bare.id}`, { as: token });
    expect(got.body).toMatchObject({ name: 'Bare', instructions: '', model: null });
    expect((await world.call('GET', '/api/agents?search=bare', { as: token })).body.items).toEqual([got.body]);
  });

  it('are created once per Idempotency-Key', async () => {
    const make = (name: string) =>
      world.call('POST', '/api/agents', { as: token, body: { name }, headers: { 'idempotency-key': 'one' } });
    const first = await make('Once');
    expect((await make('Once')).body).toEqual(first.body);
    expect(await make('Twice')).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
  });

  it('are refused with not_an_agent for an app of another kind that the caller can see', async () => {
    const app = await world.appOf(owner, workspace);
    const got = await world.call('GET', `/api/agents/${app.id}`, { as: token });
    expect(got).toMatchObject({ status: 400, body: { code: 'not_an_agent' } });
  });
});

describe('a read-only token', () => {
  it('can call exactly one operation: getConversation', async () => {
    const path = await createChat();
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    const routes = world.app.routes.filter((route) => route.path.startsWith('/api/agents'));
    expect(routes.length).toBe(24);
    const allowed: string[] = [];
    for (const route of routes) {
      const [, agentId = '', conversationId = ''] = /agents\/([^/]+)\/conversations\/([^/]+)/.exec(path) ?? [];
      const at = route.path.replace('{agent_id}', agentId).replace('{conversation_id}', conversationId);
      const got = await world.call(route.method, at, { as: readOnly });
      if (got.status === 200) allowed.push(route.name);
      else expect(got).toMatchObject({ status: 403, body: { code: 'read_only_credential_route_not_allowed' } });
    }
    expect(allowed).toEqual(['getConversation']);
  });
});

describe('conversations', () => {
  it('are one per person and agent: a repeated call returns the same one, with the first metadata', async () => {
    const at = `/api/agents/${await createAgent()}/conversations`;
    const first = await world.call('POST', at, {
      as: token,
      body: { metadata: { from: 'test', n: [1, { a: null }] } },
    });
    expect(first).toMatchObject({
      status: 200,
      body: { metadata: { from: 'test', n: [1, { a: null }] }, messages: [] },
    });
    expect(first.headers['x-changed']).toBeUndefined();
    const again = await world.call('POST', at, { as: token, body: { metadata: { other: true } } });
    expect(again.body).toEqual(first.body);
    expect(again.headers['x-changed']).toBe('false');
    const { messages: _, ...listed } = first.body;
    expect((await world.call('GET', at, { as: token })).body).toEqual([listed]);
  });

  it('refuse metadata that is too large, not an object, or not storable', async () => {
    const at = `/api/agents/${await createAgent()}/conversations`;
    const faultOf = async (metadata: unknown) =>
      (await world.call('POST', at, { as: token, body: { metadata } })).body.detail[0].type;
    expect(await faultOf({ x: 'y'.repeat(9_000) })).toBe('value_error');
    expect(await faultOf('text')).toBe('dict_type');
    expect(await faultOf({ deep: ['a\0b'] })).toBe('string_pattern_mismatch');
    expect(await faultOf({ 'k\ud800': 1 })).toBe('string_pattern_mismatch');
  });

  it('are not found for anybody but their person, whatever their role', async () => {
    const path = await createChat();
    const admin = await world.member(workspace, 'admin', 'nosy@example.com');
    const got = await world.call('GET', path, { as: await world.token(admin, workspace) });
    expect(got).toMatchObject({ status: 404, body: { code: 'conversation_not_found' } });
  });

  it('return their newest messages, or those before a given one, oldest first', async () => {
    const path = await createChat();
    for (const content of ['one', 'two', 'three']) expect((await send(path, content)).status).toBe(200);
    const { messages } = await read(path);
    expect(messages.length).toBe(6);
    expect((await read(path, '?limit=2')).messages).toEqual(messages.slice(4));
    expect((await read(path, `?limit=3&before=${messages[4].id}`)).messages).toEqual(messages.slice(1, 4));
    expect((await read(path, `?before=${newId()}`)).messages).toEqual([]);
    expect((await read(path, '?before=nonsense')).messages).toEqual([]);
    expect((await world.call('GET', `${path}?limit=501`, { as: token })).status).toBe(422);
  });

  it('delete a message, and report X-Changed: false if it was already deleted', async () => {
    const path = await createChat();
    const { id } = (await send(path, 'hello')).body;
    const gone = await world.call('DELETE', `${path}/messages/${id}`, { as: token });
    expect(gone).toMatchObject({ status: 200, body: { success: true } });
    expect(gone.headers['x-changed']).toBeUndefined();
    for (const again of [id, 'nonsense']) {
      const got = await world.call('DELETE', `${path}/messages/${again}`, { as: token });
      expect(got).toMatchObject({ status: 200, body: { success: true }, headers: { 'x-changed': 'false' } });
    }
    expect(await listContents(path)).toEqual(['user: hello']);
  });
});

describe('sendAgentMessage', () => {
  it("answers with the assistant's message, stores it with its events, and charges for its tokens", async () => {
    const path = await createChat({ instructions: 'Be kind.' });
    const got = await send(path, 'Hello');
    expect(got).toMatchObject({
      status: 200,
      body: {
        conversation_id: idIn(path),
        role: 'assistant',
        content: 'Good morning to you.',
        file_urls: [],
        tool_calls: [],
        usage: { prompt_tokens: 30_000, completion_tokens: 5_000 },
        model: 'house-model',
        hidden: false,
      },
    });
    expect(await listContents(path)).toEqual(['user: Hello', 'assistant: Good morning to you.']);
    expect(await eventsOf(path)).toEqual([
      'message.created user',
      'message.created assistant',
      'message.completed assistant',
    ]);
    expect(await reservationsOf(path)).toEqual([{ state: 'settled', charged: 3.5 }]);
    const { rows } = await sql<{ payload: object }>`select payload from events
      where name = 'message.completed' and payload->>'conversation_id' = ${idIn(path)}`.execute(world.db);
    const { id, role, content, file_urls, created_date, updated_date } = got.body;
    expect(rows[0]?.payload).toEqual({
      workspace_id: workspace,
      agent_id: path.split('/')[3],
      conversation_id: idIn(path),
      data: {
        message: { id, role, content, file_urls, created_date, updated_date },
        user: { id: owner.id, email: owner.email },
      },
    });
    expect(model.requests.at(-1)?.messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hello' },
    ]);
  });

  it("sends the conversation so far to the agent's own model", async () => {
    const path = await createChat({ model: 'own-model' });
    await send(path, 'First');
    const got = await world.call('POST', `${path}/messages`, {
      as: token,
      body: { content: 'Second', file_urls: ['https://files.example.com/a.png'] },
    });
    expect(got.body.model).toBe('own-model');
    expect(model.requests.at(-1)).toMatchObject({
      model: 'own-model',
      messages: [
        {},
        { role: 'user', content: 'First' },
        { role: 'assistant', content: 'Good morning to you.' },
        { role: 'user', content: 'Second\nAttached: https://files.example.com/a.png' },
      ],
    });
    expect((await read(path)).messages[2].file_urls).toEqual(['https://files.example.com/a.png']);
  });

  it('charges by length, at least 0.2, if the model reports no usage', async () => {
    model.script(() => ({ text: 'Hi', usage: null }));
    const path = await createChat();
    expect((await send(path, 'Hello')).body).toMatchObject({ content: 'Hi', usage: null });
    expect(await reservationsOf(path)).toEqual([{ state: 'settled', charged: 0.2 }]);
  });

  it('refuses invalid content and file_urls', async () => {
    const path = await createChat();
    const faultOf = async (body: object) => {
      const got = await world.call('POST', `${path}/messages`, { as: token, body });
      return [got.status, got.body.detail?.[0].type];
    };
    expect(await faultOf({ content: '' })).toEqual([422, 'string_too_short']);
    expect(await faultOf({ content: 'x'.repeat(100_001) })).toEqual([422, 'string_too_long']);
    const link = async (url: string) => (await faultOf({ content: 'x', file_urls: [url] }))[1];
    expect(await link('http://example.com/')).toBe('url_scheme');
    expect(await link('nonsense')).toBe('url_parsing');
    expect(await link('https://me:secret@example.com/')).toBe('url_not_public');
    expect(await link('https://example.com/#part')).toBe('url_not_public');
    for (const inner of ['https://localhost/', 'https://10.0.0.1/', 'https://example.com:6379/', 'https://0x7f.1/'])
      expect(await link(inner), inner).toBe('url_not_public');
    expect(await link('https://example.com/\0')).toBe('url_parsing');
    expect(await link('https://example.com/\ud800')).toBe('url_parsing');
    expect(await link(`https://example.com/${'x'.repeat(2_048)}`)).toBe('url_too_long');
    expect(await faultOf({ content: 'x', file_urls: Array(11).fill('https://example.com/') })).toEqual([
      422,
      'too_long',
    ]);
    expect(await listContents(path)).toEqual([]);
  });

  it('streams the message, the deltas of the reply, and the complete reply', async () => {
    model.script(() => ({ text: 'word '.repeat(80) }));
    const path = await createChat();
    const { status, events, ended } = await streamReply(path, 'Hello');
    await ended;
    expect(status).toBe(200);
    expect(events[0]).toMatchObject({ event: 'message.created', data: { role: 'user', content: 'Hello' } });
    const last = events.at(-1);
    expect(last).toMatchObject({ event: 'message.completed', data: { role: 'assistant' } });
    const deltas = events.filter(({ event }) => event === 'message.delta');
    expect(deltas.length).toBeGreaterThan(0);
    expect(deltas.map(({ data }) => data.text).join('')).toBe(last?.data.content);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect((await read(path)).messages[1]).toEqual(last?.data);
  });

  it('streams a comment every 15 s while there is no event', async () => {
    model.behave('silent');
    const path = await createChat();
    const streamed = await streamReply(path, 'Hello');
    await streamed.until('message.created');
    world.clock.aheadMs = 16_000;
    await streamed.until(':');
    streamed.close();
  });

  it('resumes a stream after Last-Event-ID, without repeating events or adding a message', async () => {
    model.behave('slow');
    model.script(() => ({ text: 'one two three' }));
    const path = await createChat();
    const first = await streamReply(path, 'Hello');
    const { id } = await first.until('message.delta');
    first.close();
    model.behave('well');
    const second = await streamReply(path, 'Hello', { 'last-event-id': id as string });
    await second.ended;
    const texts = [...first.events, ...second.events].filter(({ event }) => event === 'message.delta');
    expect(texts.map(({ data }) => data.text).join('')).toBe('one two three');
    expect(second.events.map(({ event }) => event)).not.toContain('message.created');
    expect(second.events.at(-1)).toMatchObject({ event: 'message.completed', data: { content: 'one two three' } });
    // A reply can also be resumed after it has ended, from its first event.
    const third = await streamReply(path, 'Hello', { 'last-event-id': first.events[0]?.id as string });
    await third.ended;
    expect(third.events.at(-1)).toEqual(second.events.at(-1));
    expect(await listContents(path)).toEqual(['user: Hello', 'assistant: one two three']);
  });

  it('refuses a Last-Event-ID that is invalid, too old or of another message, and adds no message', async () => {
    const path = await createChat();
    const first = await streamReply(path, 'Hello');
    await first.ended;
    const id = first.events[0]?.id as string;
    const refused = { status: 422, body: { detail: [{ loc: ['header', 'Last-Event-ID'], type: 'value_error' }] } };
    expect(await send(path, 'Another', { headers: { 'last-event-id': id } })).toMatchObject(refused);
    expect(await send(path, 'Hello', { headers: { 'last-event-id': 'nonsense' } })).toMatchObject(refused);
    expect(await send(path, 'Hello', { headers: { 'last-event-id': `${newId()}:1:1` } })).toMatchObject(refused);
    expect(await send(path, 'Hello', { headers: { 'last-event-id': `${'-'.repeat(36)}:1:1` } })).toMatchObject(refused);
    // One reply's idempotency key can't be used to resume another reply.
    const keyed = { 'idempotency-key': 'of-the-second' };
    expect((await send(path, 'Hello', { headers: keyed })).status).toBe(200);
    expect(await send(path, 'Hello', { headers: { ...keyed, 'last-event-id': id } })).toMatchObject(refused);
    world.clock.aheadMs = 11 * 60_000;
    expect(await send(path, 'Hello', { headers: { 'last-event-id': id } })).toMatchObject(refused);
    expect((await listContents(path)).length).toBe(4);
  });

  it('streams tool calls when they start and when they end, and stores them', async () => {
    model.script(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'Noted.' }
        : { tool_calls: [{ name: 'remember', arguments: { content: 'likes tea' } }] },
    );
    const path = await createChat();
    const { events, ended } = await streamReply(path, 'I like tea');
    await ended;
    const calls = events.filter(({ event }) => event === 'tool_call').map(({ data }) => data);
    expect(calls.map(({ status }) => status)).toEqual(['running', 'success']);
    expect(calls[1]).toMatchObject({ name: 'remember', arguments_string: '{"content":"likes tea"}' });
    expect((await read(path)).messages[1]).toMatchObject({ content: 'Noted.', tool_calls: [calls[1]] });
  });

  it('answers 504 after 5 minutes, and the turn continues', async () => {
    model.behave('slow');
    model.script(() => ({ text: 'one two three' }));
    const path = await createChat();
    const sending = send(path, 'Hello');
    await expect.poll(() => listContents(path)).toEqual(['user: Hello']);
    world.clock.aheadMs = 5 * 60_000 + 1;
    expect(await sending).toMatchObject({
      status: 504,
      body: { code: 'reply_timeout', conversation_id: idIn(path), retry_safe: false },
    });
    model.behave('well');
    await expect.poll(() => listContents(path)).toEqual(['user: Hello', 'assistant: one two three']);
    expect(await eventsOf(path)).toContain('message.completed assistant');
  });

  it('ends a stream with the same problem after 5 minutes; it can be resumed', async () => {
    model.behave('slow');
    model.script(() => ({ text: 'one two three' }));
    const path = await createChat();
    const streamed = await streamReply(path, 'Hello');
    await streamed.until('message.delta');
    world.clock.aheadMs = 5 * 60_000 + 1;
    expect((await streamed.until('error')).data).toMatchObject({ code: 'reply_timeout', status: 504 });
    model.behave('well');
    const again = await streamReply(path, 'Hello', { 'last-event-id': streamed.events.at(-2)?.id as string });
    expect((await again.until('message.completed')).data.content).toBe('one two three');
  });

  it('continues the turn when the client disconnects', async () => {
    model.behave('slow');
    const path = await createChat();
    const streamed = await streamReply(path, 'Hello');
    await streamed.until('message.created');
    streamed.close();
    model.behave('well');
    await expect.poll(() => listContents(path)).toEqual(['user: Hello', 'assistant: Good morning to you.']);
    expect(await reservationsOf(path)).toMatchObject([{ state: 'settled' }]);
  });

  it('refuses a message with 409 while a turn is running, and stores nothing', async () => {
    model.behave('slow');
    const path = await createChat();
    const first = await streamReply(path, 'Hello');
    await first.until('message.created');
    expect(await send(path, 'And?')).toMatchObject({
      status: 409,
      body: { code: 'conversation_busy', retry_safe: true },
    });
    expect(await reservationsOf(path)).toMatchObject([{ state: 'open' }]);
    model.behave('well');
    await first.until('message.completed');
    expect(await listContents(path)).toEqual(['user: Hello', 'assistant: Good morning to you.']);
    expect((await send(path, 'And?')).status).toBe(200);
  });

  it('accepts one of many messages sent at the same time', async () => {
    model.behave('silent');
    const path = await createChat();
    const statuses: number[] = [];
    const sent = Array.from({ length: 8 }, async (_, n) => {
      statuses.push((await send(path, `Hello ${n}`)).status);
    });
    await expect.poll(() => statuses).toEqual(Array(7).fill(409));
    model.behave('well');
    await Promise.all(sent);
    expect(statuses.at(-1)).toBe(200);
    expect((await listContents(path)).length).toBe(2);
  });

  it.each([
    [
      'model_unavailable, if it cannot be reached',
      'http://127.0.0.1:1/v1',
      { code: 'model_unavailable', retry_safe: true },
      '5',
    ],
    [
      'model_not_configured, which a retry does not help, if there is none',
      '',
      { code: 'model_not_configured', retry_safe: false },
      undefined,
    ],
  ])('answers 503 %s, and stores nothing', async (_what, MODEL_URL, body, retryAfter) => {
    const path = await createChat();
    const beside = await startSecondApp(world, { environment: { MODEL_URL } });
    const got = await call(beside.url, 'POST', `${path}/messages`, { as: token, body: { content: 'Hello' } });
    expect(got).toMatchObject({ status: 503, body });
    expect(got.headers['retry-after']).toBe(retryAfter);
    expect(await listContents(path)).toEqual([]);
    expect(await eventsOf(path)).toEqual([]);
    const { rows } = await sql`select 1 from credit_reservations where app_id = ${path.split('/')[3]}`.execute(
      world.db,
    );
    expect(rows).toEqual([]);
  });

  it.each(['cut', 'malformed'] as const)(
    'answers 503 if the model fails (%s): the message is kept, credits are released, and the same key resumes the turn',
    async (how) => {
      model.behave(how);
      const path = await createChat();
      const keyed = { headers: { 'idempotency-key': `again-${how}` } };
      const failed = await send(path, 'Hello', keyed);
      expect(failed).toMatchObject({ status: 503, body: { code: 'model_unavailable', retry_safe: true } });
      expect(await listContents(path)).toEqual(['user: Hello']);
      expect(await reservationsOf(path)).toMatchObject([{ state: 'released' }]);
      expect(await eventsOf(path)).toEqual(['message.created user']);
      model.behave('well');
      const got = await send(path, 'Hello', keyed);
      expect(got).toMatchObject({ status: 200, body: { content: 'Good morning to you.' } });
      expect(await listContents(path)).toEqual(['user: Hello', 'assistant: Good morning to you.']);
      expect(await reservationsOf(path)).toMatchObject([{ state: 'released' }, { state: 'settled', charged: 3.5 }]);
      expect(await eventsOf(path)).toEqual([
        'message.created user',
        'message.created assistant',
        'message.completed assistant',
      ]);
    },
  );

  it('counts the calls of the model in the metrics, by how they ended', async () => {
    const readCount = async (outcome: string) => {
      const line = new RegExp(`^plinth_model_calls_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm');
      return Number(line.exec(await world.app.metrics.render())?.[1] ?? 0);
    };
    const before = [await readCount('completed'), await readCount('cut')] as const;
    expect((await send(await createChat(), 'Hello')).status).toBe(200);
    model.behave('cut');
    expect((await send(await createChat(), 'Hello')).status).toBe(503);
    expect([await readCount('completed'), await readCount('cut')]).toEqual([before[0] + 1, before[1] + 1]);
    expect(await world.app.metrics.render()).toMatch(/^plinth_model_call_duration_seconds_count [1-9]/m);
  });

  it('reports a failed reply as not safe to retry without a key, also as an event', async () => {
    model.behave('cut');
    const path = await createChat();
    expect(await send(path, 'Hello')).toMatchObject({ status: 503, body: { retry_safe: false } });
    const { events, ended } = await streamReply(path, 'Hello again');
    await ended;
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { code: 'model_unavailable', status: 503 } });
  });

  it('with the same key again returns the same reply, during and after the turn, and adds no message', async () => {
    model.behave('slow');
    const path = await createChat();
    const keyed = { headers: { 'idempotency-key': 'same' } };
    const first = send(path, 'Hello', keyed);
    await expect.poll(async () => (await listContents(path)).length).toBe(1);
    const second = send(path, 'Hello', keyed);
    model.behave('well');
    const [one, two] = [await first, await second];
    expect(one.status).toBe(200);
    expect(two.body).toEqual(one.body);
    expect(two.headers['idempotent-replayed']).toBe('true');
    expect((await send(path, 'Hello', keyed)).body).toEqual(one.body);
    const streamed = await streamReply(path, 'Hello', keyed.headers);
    expect((await streamed.until('message.completed')).data).toEqual(one.body);
    expect((await listContents(path)).length).toBe(2);
    expect(await send(path, 'Other', keyed)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
  });

  it('with the key of a deleted message answers 404', async () => {
    const path = await createChat();
    const keyed = { headers: { 'idempotency-key': 'deleted' } };
    const { id } = (await send(path, 'Hello', keyed)).body;
    await world.call('DELETE', `${path}/messages/${id}`, { as: token });
    expect(await send(path, 'Hello', keyed)).toMatchObject({ status: 404, body: { code: 'message_not_found' } });
    model.behave('cut');
    const failing = { headers: { 'idempotency-key': 'deleted-too' } };
    await send(path, 'Hi', failing);
    const { messages } = await read(path);
    await world.call('DELETE', `${path}/messages/${messages.at(-1).id}`, { as: token });
    expect(await send(path, 'Hi', failing)).toMatchObject({ status: 404, body: { code: 'message_not_found' } });
  });

  it('does not answer a message that was deleted before its turn ran, and releases its credits', async () => {
    const path = await createChat();
    const [id, message_id] = [newId(), newId()];
    const act = { workspace_id: workspace, user_id: owner.id, app_id: null, operation: 'test' };
    const spend = { ...act, reference_id: message_id, amount: 1, leaseMs: 60_000 };
    const reservation = await reserve(world.db, spend, new Date());
    const turn = { workspace_id: workspace, conversation_id: idIn(path), reservation_id: reservation.id };
    const due = { due_at: new Date(), created_date: new Date(), may_save_memories: false };
    await world.db
      .insertInto('agent_turns')
      .values({ id, message_id, ...turn, ...due })
      .execute();
    const findTurn = () =>
      world.db.selectFrom('agent_turns').where('id', '=', id).select(['due_at', 'last_error']).executeTakeFirst();
    await expect.poll(findTurn).toEqual({ due_at: null, last_error: 'the message was deleted' });
    expect(await reservationsOf(path)).toMatchObject([{ state: 'released' }]);
    expect(await listContents(path)).toEqual([]);
  });

  describe('credits', () => {
    const createPoorCaller = async (
      limit: number,
      own?: number,
    ): Promise<{ person: Person; as: string; path: string }> => {
      const person = await world.person(`poor-${newId()}@example.com`);
      const place = await world.workspace(person, 'business');
      await world.db.updateTable('workspaces').set({ monthly_limit: limit }).where('id', '=', place).execute();
      if (own !== undefined) {
        const membership = world.db.updateTable('memberships').where('workspace_id', '=', place);
        await membership.set({ credit_limit: own }).execute();
      }
      const as = await world.token(person, place);
      const agentId = await createAgent({}, as);
      return { person, as, path: `/api/agents/${agentId}/conversations/${await createConversation(agentId, as)}` };
    };

    it("answer 402 when the pool or the person's limit does not cover a reply; nothing is stored", async () => {
      for (const [limits, code] of [
        [[0.1], 'credits_exhausted'],
        [[100, 0.1], 'credit_limit_reached'],
      ] as const) {
        const { as, path } = await createPoorCaller(...(limits as unknown as [number, number]));
        expect(await send(path, 'Hello', { as })).toMatchObject({ status: 402, body: { code } });
        expect((await read(path, '', as)).messages).toEqual([]);
      }
    });

    it('are charged up to what the pool has left', async () => {
      const { as, path } = await createPoorCaller(2);
      expect((await send(path, 'Hello', { as })).status).toBe(200);
      expect(await reservationsOf(path)).toEqual([{ state: 'settled', charged: 2 }]);
      expect(await send(path, 'More', { as })).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
    });

    it('are checked before the model, and the model before a running turn', async () => {
      const beside = await startSecondApp(world, { environment: { MODEL_URL: '' } });
      const { as, path } = await createPoorCaller(0.1);
      const got = await call(beside.url, 'POST', `${path}/messages`, { as, body: { content: 'Hello' } });
      expect(got.status).toBe(402);
      model.behave('slow');
      const busy = await createChat();
      const streamed = await streamReply(busy, 'Hello');
      await streamed.until('message.created');
      const away = await call(beside.url, 'POST', `${busy}/messages`, { as: token, body: { content: 'Hello' } });
      expect(away.status).toBe(503);
      model.behave('well');
      await streamed.ended;
    });
  });

  it('truncates the content of an event that is too long; the message is complete', async () => {
    const path = await createChat();
    const content = '💬'.repeat(99_000);
    expect((await send(path, content)).status).toBe(200);
    expect((await read(path)).messages[0].content).toBe(content);
    const { rows } = await sql<{ payload: { data: { message: { content: string; content_truncated?: true } } } }>`
      select payload from events where payload->>'conversation_id' = ${idIn(path)} order by id`.execute(world.db);
    const [event] = rows;
    expect(event?.payload.data.message.content_truncated).toBe(true);
    expect(content.startsWith(event?.payload.data.message.content ?? 'x')).toBe(true);
    const bytes = Buffer.byteLength(JSON.stringify(event?.payload));
    expect(bytes).toBeLessThanOrEqual(256 * 1024);
    expect(bytes).toBeGreaterThan(250 * 1024);
    expect(rows[1]?.payload.data.message).not.toHaveProperty('content_truncated');
  });

  it("removes characters from a reply that the database can't store", async () => {
    model.script(() => ({ text: 'nul\0 and half \ud83d end' }));
    const path = await createChat();
    expect((await send(path, 'Hello')).body.content).toBe('nul and half \ufffd end');
  });

  it('deltas and turns are removed after their retention time', async () => {
    const path = await createChat();
    await send(path, 'Hello');
    const count = async (table: 'turn_deltas' | 'agent_turns') => {
      const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}
        where workspace_id = ${workspace}`.execute(world.db);
      return rows[0]?.n;
    };
    expect(await count('turn_deltas')).toBeGreaterThan(0);
    const later = new Date(Date.now() + 3 * 24 * 60 * 60 * 1000);
    for (const job of world.app.background.jobs.filter(({ name }) => name.startsWith('remove old'))) {
      while ((await job.run(world.app.database.db, later)) > 0);
    }
    expect([await count('turn_deltas'), await count('agent_turns')]).toEqual([0, 0]);
  });
});

describe('memories', () => {
  const scriptRemember = (content: string, more: object = {}) =>
    model.script(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'Noted.' }
        : { tool_calls: [{ name: 'remember', arguments: { content, ...more } }] },
    );
  const list = async (path: string, as = token) =>
    (await world.call('GET', `${path.replace(/\/conversations.*/, '')}/memory`, { as })).body;
  const deleteMemory = (path: string, id: string, as = token) =>
    world.call('DELETE', `${path.replace(/\/conversations.*/, '')}/memory/${id}`, { as });

  it("contain no characters that the database can't store", async () => {
    scriptRemember('likes\0 coffee');
    const path = await createChat();
    expect((await send(path, 'Remember a zero')).status).toBe(200);
    expect((await list(path)).items).toMatchObject([{ content: 'likes coffee' }]);
  });

  it('are created by the agent, sent to it with later messages, and listed and deleted by their person', async () => {
    scriptRemember('likes tea');
    const path = await createChat();
    await send(path, 'I like tea');
    const { items } = await list(path);
    expect(items).toMatchObject([{ kind: 'user', content: 'likes tea' }]);
    model.script(() => ({ text: 'Tea?' }));
    await send(path, 'What do I like?');
    expect(model.requests.at(-1)?.messages[0]?.content).toContain(`${items[0].id}: likes tea`);
    expect((await deleteMemory(path, items[0].id)).body).toEqual({ success: true });
    expect(await deleteMemory(path, items[0].id)).toMatchObject({ status: 404, body: { code: 'memory_not_found' } });
    expect((await list(path)).items).toEqual([]);
  });

  it("that are global are created in conversations of the agent's editors, and can't be deleted", async () => {
    scriptRemember('the shop closes at six', { for_everyone: true });
    const path = await createChat();
    await send(path, 'We close at six');
    const viewer = await world.member(workspace, 'viewer', 'memory-viewer@example.com');
    const as = await world.token(viewer, workspace);
    const { items } = await list(path, as);
    expect(items).toMatchObject([{ kind: 'global', content: 'the shop closes at six' }]);
    expect(await deleteMemory(path, items[0].id)).toMatchObject({ status: 403, body: { code: 'role_required' } });
    scriptRemember('the shop is mine', { for_everyone: true });
    const own = path.replace(/[^/]+$/, await createConversation(path.split('/')[3] as string, as));
    expect((await send(own, 'It is mine', { as })).status).toBe(200);
    expect((await list(own, as)).items).toMatchObject([{ kind: 'user' }, { kind: 'global' }]);
    expect((await list(path)).items).toMatchObject([{ kind: 'global' }]);
  });

  it('can be deleted by the agent, and are at most fifty', async () => {
    const path = await createChat();
    const note = { workspace_id: workspace, app_id: path.split('/')[3] as string, user_id: owner.id };
    const rows = Array.from({ length: 50 }, (_, n) => ({
      ...note,
      id: newId(),
      content: `n${n}`,
      created_date: new Date(),
    }));
    await world.db.insertInto('agent_memories').values(rows).execute();
    scriptRemember('one more');
    const { tool_calls } = (await send(path, 'Remember this')).body;
    expect(tool_calls).toMatchObject([{ status: 'error', results: expect.stringContaining('Forget a memory first') }]);
    model.script(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { text: 'Gone.' }
        : { tool_calls: [{ name: 'forget', arguments: { memory_id: rows[0]?.id } }] },
    );
    expect((await send(path, 'Forget that')).body.tool_calls).toMatchObject([{ status: 'success' }]);
    const first = (await world.call('GET', `/api/agents/${note.app_id}/memory?limit=30`, { as: token })).body;
    expect(first).toMatchObject({ has_more: true });
    const next = `/api/agents/${note.app_id}/memory?limit=30&cursor=${first.next_cursor}`;
    expect((await world.call('GET', next, { as: token })).body.items.length).toBe(19);
    const broken = await world.call('GET', `/api/agents/${note.app_id}/memory?cursor=x`, { as: token });
    expect(broken).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });

  it('are not created by a reply that failed', async () => {
    model.script(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') model.behave('cut');
      return messages.at(-1)?.role === 'tool'
        ? { text: 'one two three four' }
        : { tool_calls: [{ name: 'remember', arguments: { content: 'x' } }] };
    });
    const path = await createChat();
    expect((await send(path, 'Remember x')).status).toBe(503);
    expect((await list(path)).items).toEqual([]);
  });
});
