// What the client concludes from answers, lost connections and mistakes of the program.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isPlinthError, Plinth } from '../src/index.ts';
import { answering, fail, json, lost, page, problem, refusalOf } from './answering.ts';

const cutOff = fail(lost('ECONNRESET', 'read'));

// The pauses between attempts take no time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
});
afterEach(() => vi.useRealTimers());

describe('a repeated DELETE', () => {
  it('was successful before if Plinth finds nothing', async () => {
    const { plinth } = answering([cutOff, () => problem(404, 'app_not_found')]);
    expect(await plinth.deleteApp({ app_id: 'a' })).toEqual({ success: true });
  });

  it.each([
    ['text', () => page(404, 'text/plain')],
    ['JSON', () => json({ message: 'no Route matched' }, {}, 404)],
    ['JSON with a code', () => json({ code: 404, message: 'no route' }, {}, 404)],
  ])('has an unknown outcome if a proxy finds nothing, and says so in %s', async (_, answer) => {
    const { plinth } = answering([cutOff, answer]);
    await expect(plinth.deleteApp({ app_id: 'a' })).rejects.toMatchObject({
      code: 'unexpected_answer',
      status: 404,
      outcomeUnknown: true,
    });
  });
});

describe('an answer that is not Plinth’s', () => {
  it.each([
    ['JSON without a code', () => json({ message: 'no Route matched' }, {}, 404), 404, false],
    ['JSON with a number as code', () => json({ code: 503, message: 'timed out' }, {}, 503), 503, true],
    ['JSON with the code of another program', () => json({ code: 'Forbidden', message: 'x' }, {}, 403), 403, false],
    ['a body that is said to be JSON', () => page(502, 'application/json'), 502, true],
    ['an empty body that is said to be JSON', () => new Response('', json({})), 200, true],
    ['null', () => json(null, {}, 502), 502, true],
  ])('is %s', async (_, answer, status, outcomeUnknown) => {
    const { plinth } = answering([answer]);
    const error = await refusalOf(plinth.createApp({ name: 'Shop' }));
    expect(error).toMatchObject({ code: 'unexpected_answer', status, outcomeUnknown });
  });

  it.each([
    ['text', (plinth: Plinth) => plinth.llms()],
    ['bytes', (plinth: Plinth) => plinth.getAdImage({ file: 'a.png' })],
    ['another format', (plinth: Plinth) => plinth.getExport({ export_id: 'e' }).as('application/gzip')],
    ['lines', (plinth: Plinth) => plinth.exportAuditLog()],
  ])('is a page instead of %s', async (_, call) => {
    const { plinth } = answering([() => page(200)], { maxRetries: 0 });
    expect(await refusalOf(call(plinth))).toMatchObject({ code: 'unexpected_answer', status: 200 });
  });
});

describe('a lost connection', () => {
  const signIn = { email: 'ada@example.com', password: 'a long password' };

  it.each([
    ['EHOSTUNREACH', 'read'],
    ['ENETUNREACH', 'write'],
    ['ECONNREFUSED', 'read'],
  ])('that was in use leaves the outcome unknown: %s of %s', async (code, syscall) => {
    const { plinth, sent } = answering([fail(lost(code, syscall))]);
    expect(await refusalOf(plinth.signIn(signIn))).toMatchObject({ code: 'unreachable', outcomeUnknown: true });
    expect(sent.length).toBe(1);
  });

  const refused = lost('ECONNREFUSED', 'connect').cause;
  it.each([
    ['ECONNREFUSED', refused],
    ['ENOTFOUND', lost('ENOTFOUND', 'getaddrinfo').cause],
    ['UND_ERR_CONNECT_TIMEOUT', { code: 'UND_ERR_CONNECT_TIMEOUT' }],
    ['ECONNREFUSED of each address', Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' })],
  ])('that was never made had no effect, and is tried again: %s', async (_, cause) => {
    const { plinth, sent } = answering([fail(new TypeError('fetch failed', { cause }))]);
    expect(await refusalOf(plinth.signIn(signIn))).toMatchObject({ code: 'unreachable', outcomeUnknown: false });
    expect(sent.length).toBe(3);
  });
});

describe('a port that fetch blocks', () => {
  it('is named, had no effect, and is not tried again', async () => {
    const attempts: string[] = [];
    const plinth = new Plinth({ url: 'http://127.0.0.1:6000', onRequest: ({ requestId }) => attempts.push(requestId) });
    const error = await refusalOf(plinth.createApp({ name: 'Shop' }));
    expect(error).toMatchObject({
      code: 'unreachable',
      outcomeUnknown: false,
      message: expect.stringContaining('bad port'),
    });
    expect(attempts.length).toBe(1);
  });
});

describe('a mistake of the program', () => {
  const secret = 'plp_secret1\nplp_secret2';

  it.each([
    ['a token with a line break', { token: secret }, {}],
    ['a key with other characters than those of headers', {}, { idempotencyKey: '订单-1' }],
    ['a header with a line break', {}, { headers: { 'x-note': 'a\nb' } }],
    ['a header without a valid name', {}, { headers: { 'x note': 'a' } }],
  ])('is thrown as it is, without the value: %s', async (_, options, callOptions) => {
    const { plinth, sent } = answering([() => json({})], options);
    const error = await refusalOf(plinth.createApp({ name: 'Shop' }, callOptions));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toMatch(/secret|订单/);
    expect(sent).toEqual([]);
  });

  it.each(['plinth.example', 'localhost:3000', 'https://ada:password@plinth.example', ''])(
    'is refused when the client is created: the address %j',
    (address) => {
      expect(() => new Plinth({ url: address, token: 'plp_00' })).toThrow('`url`');
    },
  );

  it('in a hook is thrown, and is no lost connection', async () => {
    const wrong = fail(new Error('my hook'));
    for (const hook of ['onRequest', 'onResponse'] as const) {
      const { plinth, sent } = answering([() => json({ id: 'a' })], { [hook]: wrong });
      await expect(plinth.createApp({ name: 'Shop' })).rejects.toThrow(/^my hook$/);
      expect(sent.length).toBe(hook === 'onRequest' ? 0 : 1);
    }
  });

  it('in the function of the token is thrown, unless an earlier attempt left the outcome unknown', async () => {
    const cause = new Error('no identity provider');
    const first = answering([], { token: fail(cause) });
    await expect(first.plinth.createApp({ name: 'Shop' })).rejects.toBe(cause);
    let calls = 0;
    const token = () => {
      calls += 1;
      if (calls > 1) throw cause;
      return 'plp_00';
    };
    const second = answering([cutOff], { token });
    await expect(second.plinth.createApp({ name: 'Shop' })).rejects.toMatchObject({
      code: 'unreachable',
      outcomeUnknown: true,
      cause,
    });
  });
});

describe('the key that the client chose', () => {
  it('is on the error: the program can repeat the call without a second effect', async () => {
    const refuse = () => problem(500, 'internal_error', { retry_safe: true });
    const { plinth, sent } = answering([refuse, refuse, () => json({ id: 'a' })], { maxRetries: 1 });
    const error = await refusalOf(plinth.createApp({ name: 'Shop' }));
    if (!isPlinthError(error) || error.idempotencyKey === undefined) throw error;
    await plinth.createApp({ name: 'Shop' }, { idempotencyKey: error.idempotencyKey });
    expect(new Set(sent.map(({ init }) => new Headers(init.headers).get('idempotency-key'))).size).toBe(1);
    expect(error.retrySafe).toBe(true);
  });

  it('continues createMany, whose error says what was created', async () => {
    const rows = Array.from({ length: 1100 }, (_, index) => ({ id: String(index) }));
    const refuse = () => problem(402, 'storage_quota_exceeded', { retry_safe: false });
    const part = (from: number, to: number) => () => json(rows.slice(from, to));
    const { plinth, sent } = answering([part(0, 500), refuse, part(0, 500), part(500, 1000), part(1000, 1100)]);
    const Task = plinth.app('a').entity('Task');
    const error = await refusalOf(Task.createMany(rows));
    if (!isPlinthError(error) || error.progress === undefined) throw error;
    expect(error.code).toBe('storage_quota_exceeded');
    expect(error.progress.created).toEqual(rows.slice(0, 500));
    expect(await Task.createMany(rows, { key: error.progress.key })).toEqual(rows);
    const keys = sent.map(({ init }) => new Headers(init.headers).get('idempotency-key'));
    expect(keys.slice(0, 2)).toEqual(keys.slice(2, 4));
  });

  it('continues createMany after the signal ended it', async () => {
    const rows = Array.from({ length: 600 }, (_, index) => ({ id: String(index) }));
    const controller = new AbortController();
    const abort = () => {
      controller.abort(new Error('the person left'));
      throw controller.signal.reason;
    };
    const { plinth } = answering([() => json(rows.slice(0, 500)), abort]);
    const error = await refusalOf(plinth.app('a').entity('Task').createMany(rows, { signal: controller.signal }));
    expect(error).toMatchObject({ code: 'aborted', outcomeUnknown: true, cause: controller.signal.reason });
    expect(isPlinthError(error) && error.progress).toEqual({ key: expect.any(String), created: rows.slice(0, 500) });
  });
});

describe('waiting', () => {
  const refuse = (seconds: number) => () =>
    problem(429, 'rate_limited', { retry_safe: true }, { 'retry-after': String(seconds) });

  it.each([0, 0.5, 0.999])('takes the 60 seconds of the server, and a little longer (%d)', async (chance) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance);
    const waits: number[] = [];
    const { plinth, sent } = answering([refuse(60), () => json({})], { onRetry: ({ waitMs }) => waits.push(waitMs) });
    await plinth.getMe();
    expect(sent.length).toBe(2);
    expect(waits).toEqual([60_000 + chance * 5000]);
    vi.restoreAllMocks();
  });

  it('is at most 60 seconds in all', async () => {
    const { plinth, sent } = answering([refuse(31)]);
    expect(await refusalOf(plinth.getMe())).toMatchObject({ code: 'rate_limited' });
    expect(sent.length).toBe(2);
  });
});

describe('a file', () => {
  it('may take longer than an attempt, as long as something arrives', async () => {
    vi.useRealTimers();
    let downloads = 0;
    const server = createServer((_, response) => {
      downloads += 1;
      response.writeHead(200, { 'content-type': 'application/gzip' });
      let chunks = 0;
      const timer = setInterval(() => {
        response.write('x'.repeat(1000));
        chunks += 1;
        if (chunks === 12) response.end();
      }, 50);
      response.on('close', () => clearInterval(timer));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const plinth = new Plinth({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: 'plp_00',
      timeoutMs: 300,
    });
    const bytes = await plinth.getExport({ export_id: 'e' }).as('application/gzip');
    server.close();
    expect(bytes.length).toBe(12_000);
    expect(downloads).toBe(1);
  });

  it('is lost if nothing arrives for 45 seconds', async () => {
    const silent = () => new Response(new ReadableStream(), { headers: { 'content-type': 'application/gzip' } });
    const { plinth, sent } = answering([silent]);
    const error = await refusalOf(plinth.getExport({ export_id: 'e' }).as('application/gzip'));
    expect(error).toMatchObject({ code: 'unreachable', outcomeUnknown: false });
    expect(sent.length).toBe(3);
  });
});
