// Rules of the client that need no server: where a token may be used, what is said of notes, pages and webhooks.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { describeClient } from '../../../server/describe/client.ts';
import { errorCodes } from '../../../server/describe/errors.ts';
import { verifyAuditChain } from '../src/audit.ts';
import { isPlinthError, Plinth, testedWith } from '../src/index.ts';
import { Sequence, verifyWebhook, WebhookError } from '../src/webhooks.ts';
import { answering, json, url } from './answering.ts';
import { measureSize } from './size.ts';

const root = new URL('../../../', import.meta.url);
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('the generated files', () => {
  it('are what the document gives', () => {
    const document = JSON.parse(readFileSync(new URL('docs/generated/openapi.json', root), 'utf8'));
    for (const [path, text] of Object.entries(describeClient(document, errorCodes)))
      expect(readFileSync(new URL(path, root), 'utf8') === text, `${path} is out of date: run npm run describe`).toBe(
        true,
      );
  });

  it('refuse a body field with the name of a parameter', () => {
    const document = JSON.parse(readFileSync(new URL('docs/generated/openapi.json', root), 'utf8'));
    document.components.schemas.UpdateAppBody.properties.app_id = { type: 'string' };
    expect(() => describeClient(document, errorCodes)).toThrow('updateApp: app_id is the name of two arguments');
  });
});

describe('the generated table', () => {
  it('names the release that the client was tested with, and is not written without one', () => {
    expect(testedWith).toMatch(/^\d+\.\d+\.\d+$/);
    const document = JSON.parse(readFileSync(new URL('docs/generated/openapi.json', root), 'utf8'));
    document.info.description = 'An API.';
    expect(() => describeClient(document, errorCodes)).toThrow('does not name the release');
  });
});

describe('the size', () => {
  it('is at most 8 kB compressed without the table, and 12 kB with it', async () => {
    const { withTable, withoutTable } = await measureSize();
    expect(withoutTable).toBeLessThan(8 * 1024);
    expect(withTable).toBeLessThan(12 * 1024);
  });
});

describe('a secret token in a browser', () => {
  it('is refused, unless the page says that it is meant', () => {
    vi.stubGlobal('window', {});
    vi.stubGlobal('document', {});
    for (const token of ['plp_00', 'plk_00', 'plw_00']) expect(() => new Plinth({ url, token })).toThrow(TypeError);
    expect(new Plinth({ url, token: 'plp_00', dangerouslyAllowBrowser: true })).toBeDefined();
    expect(new Plinth({ url, token: 'plu_00' })).toBeDefined();
  });

  it('is refused when a function returns it', async () => {
    const { plinth, sent } = answering([() => json({})], { token: () => 'plp_00' });
    vi.stubGlobal('window', {});
    vi.stubGlobal('document', {});
    await expect(plinth.getMe()).rejects.toThrow('readable in the page');
    expect(sent).toEqual([]);
  });

  it('is not needed on pages of the installation, whose cookie is the credential', async () => {
    vi.stubGlobal('location', { origin: 'https://plinth.example' });
    const sent: RequestInit[] = [];
    const fetch: typeof globalThis.fetch = async (_, init = {}) => {
      sent.push(init);
      if (sent.length === 1) throw new TypeError('fetch failed');
      return json({ id: 'a' });
    };
    await new Plinth({ session: true, fetch }).createApp({ name: 'Shop' });
    const keys = sent.map(({ headers }) => new Headers(headers).get('idempotency-key'));
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(sent.map(({ credentials }) => credentials)).toEqual(['same-origin', 'same-origin']);
    expect(new Headers(sent[0]?.headers).has('authorization')).toBe(false);
  });
});

describe('a call', () => {
  it('is sent once, awaited or not, and in the form that follows in the same expression', async () => {
    const page = () => json({ items: [1, 2], next_cursor: null, has_more: false });
    const { plinth, sent } = answering([page]);
    plinth.listApps();
    await vi.waitFor(() => expect(sent.length).toBe(1));
    const call = plinth.listApps();
    await Promise.all([call, call.answer(), call.result()]);
    expect(sent.length).toBe(2);
    expect(() => call.pages()).toThrow('already sent');
    expect(await plinth.listApps().take(1)).toEqual([1]);
    expect(sent.length).toBe(3);
  });

  it('returns refusals if asked, and throws what is no refusal', async () => {
    const problem = {
      status: 409,
      code: 'slug_taken',
      detail: 'Another app uses this slug.',
      request_id: 'r',
      retry_safe: false,
    };
    const { plinth } = answering([() => json(problem, { 'content-type': 'application/problem+json' }, 409)]);
    const result = await plinth.updateApp({ app_id: 'a', slug: 'shop' }).result();
    expect(result).toMatchObject({ ok: false, error: { code: 'slug_taken', status: 409, outcomeUnknown: false } });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(plinth.getMe({}, { signal }).result()).rejects.toThrow('enough');
  });

  it('names each fault of a 422, and says if the server lacks the operation', async () => {
    const detail = [{ loc: ['body', 'name'], msg: 'is required', type: 'missing' }];
    const invalid = answering([() => json({ detail, code: 'validation', request_id: 'r' }, {}, 422)]);
    const error = await Promise.resolve(invalid.plinth.createApp({ name: '' })).catch((each: unknown) => each);
    expect(isPlinthError(error, 'validation') && error.faults).toEqual(detail);
    const old = answering([
      () => json({ status: 404, code: 'route_not_found', detail: 'x', request_id: 'r' }, {}, 404),
    ]);
    await expect(old.plinth.getMe()).rejects.toMatchObject({ code: 'operation_not_on_server' });
  });

  it('refuses an argument of the path that is missing or empty', () => {
    const { plinth } = answering([]);
    expect(() => plinth.getApp({ app_id: '' })).toThrow('getApp: app_id is missing');
  });

  it('asks to be sent again after the seconds of the server, and not if they are more than 60', async () => {
    const refuse = (seconds: string) => () =>
      json(
        { status: 429, code: 'rate_limited', detail: 'x', request_id: 'r', retry_safe: true, limit: 5 },
        { 'retry-after': seconds },
        429,
      );
    const soon = answering([refuse('1'), () => json({})]);
    const startedAt = Date.now();
    await soon.plinth.getMe();
    expect(Date.now() - startedAt).toBeGreaterThan(990);
    const late = answering([refuse('61')]);
    await expect(late.plinth.getMe()).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 61,
      details: { limit: 5 },
    });
    expect(late.sent.length).toBe(1);
  });
});

describe('pages', () => {
  it('are read to the end, and throw if the list begins again in the middle', async () => {
    const first = () => json({ items: ['a'], next_cursor: 'c', has_more: true });
    const whole = answering([first, () => json({ items: ['b'], next_cursor: null, has_more: false })]);
    const items: unknown[] = [];
    for await (const item of whole.plinth.listApps()) items.push(item);
    expect(items).toEqual(['a', 'b']);
    expect(whole.sent[1]?.url).toBe(`${url}/api/apps?cursor=c`);
    const reset = answering([
      first,
      () => json({ items: ['a'], next_cursor: null, has_more: false }, { 'x-cursor': 'reset' }),
    ]);
    await expect(reset.plinth.listApps().take(9)).rejects.toMatchObject({ code: 'cursor_reset' });
  });
});

describe('notes', () => {
  const headers = {
    'x-partial-result': 'active_users',
    'x-ignored-fields': 'colour,caf%C3%A9',
    'x-changed': 'false',
    'x-scanner-version': '3',
    ratelimit: '"default";r=9;t=42',
  };

  it('are typed, and said once', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { plinth } = answering([() => json({}, headers)]);
    const { notes } = await plinth.getMe().answer();
    expect(notes).toMatchObject({
      partial: ['active_users'],
      ignored: ['colour', 'café'],
      changed: false,
      scannerVersion: 3,
      rateLimit: { remaining: 9, resetSeconds: 42 },
    });
    await plinth.getMe();
    expect(warn.mock.calls.flat()).toEqual([
      'getMe: active_users could not be read',
      'getMe: colour had no effect',
      'getMe: café had no effect',
    ]);
  });

  it('are thrown if asked for', async () => {
    const { plinth } = answering([() => json({}, headers)], { onNotes: 'throw' });
    await expect(plinth.getMe()).rejects.toMatchObject({ code: 'notes_refused' });
  });
});

describe('verifyWebhook', () => {
  const secret = `whsec_${Buffer.from('a secret of some length').toString('base64')}`;
  const body = '{"id":"1","type":"entity.created"}';
  const now = new Date('2026-11-15T09:30:00Z');
  const timestamp = String(now.getTime() / 1000);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = `v1,${createHmac('sha256', key).update(`d1.${timestamp}.${body}`).digest('base64')}`;
  const headers = {
    'webhook-id': 'd1',
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'X-Service-Sequence': '18',
  };

  it('accepts a genuine delivery, of any kind of request', async () => {
    const expected = { id: 'd1', sequence: 18, attempt: 1, event: { type: 'entity.created' } };
    expect(await verifyWebhook({ headers, body }, { secret, now })).toMatchObject(expected);
    const request = new Request('https://example.com', { method: 'POST', headers, body });
    expect(await verifyWebhook(request, { secret, now })).toMatchObject(expected);
    const rotated = { ...headers, 'webhook-signature': `v1,${Buffer.from('another').toString('base64')} ${signature}` };
    expect(await verifyWebhook({ headers: rotated, body }, { secret, now })).toMatchObject(expected);
  });

  it.each([
    ['another body', { headers, body: `${body} ` }, now],
    ['an old one', { headers, body }, new Date(now.getTime() + 301_000)],
    ['no signature', { headers: { ...headers, 'webhook-signature': '' }, body }, now],
    ['another id', { headers: { ...headers, 'webhook-id': 'd2' }, body }, now],
  ])('refuses %s', async (_, request, now) => {
    await expect(verifyWebhook(request, { secret, now })).rejects.toThrow(WebhookError);
  });

  it('notices repeats and gaps in any order, also after a restart', () => {
    const received = new Sequence();
    expect([1, 2, 5, 2, 4].map((each) => received.add(each))).toEqual([true, true, true, false, true]);
    expect(received.missing).toEqual([3]);
    const restored = new Sequence(JSON.parse(JSON.stringify(received)));
    expect([restored.add(5), restored.add(3), restored.missing]).toEqual([false, true, []]);
    expect(restored.toJSON()).toEqual({ upTo: 5, beyond: [] });
  });

  it('refuses every delivery if the tolerance is not a number', async () => {
    const options = { secret, now: new Date(now.getTime() + 1_000_000), toleranceSeconds: Number.NaN };
    await expect(verifyWebhook({ headers, body }, options)).rejects.toThrow('webhook-timestamp');
  });

  it('returns the signed id, by which a repeat is recognised although nobody signs its number', async () => {
    const replayed = { ...headers, 'X-Service-Sequence': '19' };
    expect((await verifyWebhook({ headers: replayed, body }, { secret, now })).id).toBe('d1');
    const wrong = { ...headers, 'X-Service-Sequence': 'many' };
    expect((await verifyWebhook({ headers: wrong, body }, { secret, now })).sequence).toBeUndefined();
  });

  it('accepts requests of other libraries, and says what is wrong with a parsed body', async () => {
    const values = new Headers(headers);
    const request = {
      headers: { get: (name: string) => values.get(name) },
      arrayBuffer: async () => new TextEncoder().encode(body).buffer,
    };
    expect((await verifyWebhook(request, { secret, now })).id).toBe('d1');
    const parsed = { headers, body: JSON.parse(body) };
    await expect(verifyWebhook(parsed, { secret, now })).rejects.toThrow('before it is parsed');
  });
});

describe('a Sequence', () => {
  it('begins where the program does', () => {
    const received = new Sequence();
    received.add(1_000_000);
    received.add(1_000_002);
    received.skipTo(999_999);
    expect(received.toJSON()).toEqual({ upTo: 1_000_000, beyond: [1_000_002] });
    expect(received.missing).toEqual([1_000_001]);
    expect([999_999, 1_000_001, 1_000_002].map((each) => received.has(each))).toEqual([true, false, true]);
    received.skipTo(5);
    expect(received.toJSON().upTo).toBe(1_000_000);
  });

  it('says what is missing, however many numbers there are', () => {
    const beyond = Array.from({ length: 200_000 }, (_, index) => index + 3);
    expect(new Sequence({ upTo: 1, beyond }).missing).toEqual([2]);
  });
});

describe('verifyAuditChain', () => {
  it('finds an empty export whole, unless an entry was noted', async () => {
    expect(await verifyAuditChain([])).toEqual({ whole: true, entries: 0, last: undefined });
    expect(await verifyAuditChain([], { after: { sequence: 3, hash: 'h' } })).toMatchObject({
      whole: false,
      brokenAt: 3,
      reason: 'the export is empty: the noted entry is missing, or was not exported',
    });
  });
});
