// Tests that a definition is either read completely or rejected with all its faults and their locations.
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../test/support/cpu.ts';
import { openJq } from '../../../kit/jq/index.ts';
import type { Json } from './model.ts';
import { parseDefinition, parseStored } from './parse.ts';

const jq = openJq();
afterAll(() => jq.close());

const expression = (filter: string) => `\${ ${filter} }`;
const document = { dsl: '1.0.0', namespace: 'app', name: 'welcome', version: '1.0.0' };
const define = (...tasks: unknown[]) => ({ document, do: tasks });
const id = '0190f4e2-0000-7000-8000-000000000001';

const set = { set: { a: 1 } };
const http = (more: object) => ({ call: 'http', with: { method: 'get', endpoint: 'https://example.com', ...more } });
const request = (more: object) => ({
  call: 'connector.request',
  with: { integration_type: 'slack', method: 'post', path: '/chat.postMessage', ...more },
});
const retrying = (retry: unknown) => ({ try: [{ a: set }], catch: { retry } });
const caught = (more: object) => ({ try: [{ a: set }], catch: more });
const raised = (error: unknown) => ({ raise: { error } });
const nested = (depth: number): unknown => (depth === 1 ? set : { do: [{ in: nested(depth - 1) }] });

const example = define(
  { load: { call: 'entity.get', with: { entity: 'Task', id: expression('.entity_id') } } },
  {
    check: {
      switch: [{ open: { when: expression('.state == "open"'), then: 'notify' } }, { else: { then: 'end' } }],
    },
  },
  {
    notify: {
      try: [
        {
          post: {
            call: 'http',
            with: {
              method: 'POST',
              endpoint: 'https://example.com/in',
              headers: { authorization: expression('"Bearer \\($secrets.API_KEY)"') },
              body: expression('{id: .id}'),
            },
          },
        },
      ],
      catch: {
        errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication' } },
        retry: { delay: { seconds: 5 }, backoff: { exponential: {} }, limit: { attempt: { count: 4 } } },
      },
    },
  },
);

async function parse(source: unknown) {
  const parsed = await parseDefinition(source, jq);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.ok;
}

describe('parseDefinition', () => {
  it('reads the example', async () => {
    const definition = await parse(example);
    expect(definition).toMatchObject({
      name: 'welcome',
      versionId: expect.stringMatching(/^[0-9a-f]{64}$/),
      secretNames: ['API_KEY'],
      entityNames: ['Task'],
      tasks: [
        { type: 'call', call: 'entity.get', path: '/do/0/load', name: 'load', id: expression('.entity_id') },
        {
          type: 'switch',
          cases: [
            { name: 'open', then: { task: 'notify' } },
            { name: 'else', then: 'end' },
          ],
        },
        {
          type: 'try',
          tasks: [{ call: 'http', method: 'post', output: 'content', path: '/do/2/notify/try/0/post' }],
          catch: {
            as: 'error',
            with: { type: 'communication' },
            retry: { delayMs: 5_000, backoff: 'exponential', maxAttempts: 4 },
          },
        },
      ],
    });
    expect([...definition.tasksByPath.keys()].sort()).toEqual([
      '/do/0/load',
      '/do/1/check',
      '/do/2/notify',
      '/do/2/notify/try/0/post',
    ]);
    expect(parseStored(JSON.parse(JSON.stringify(example)))).toEqual(definition);
  });

  it('gives definitions that differ only in the order of keys the same version', async () => {
    const { versionId } = await parse({ document, do: [{ a: { set: { x: 1, y: [1, 2] } } }] });
    expect((await parse({ do: [{ a: { set: { y: [1, 2], x: 1 } } }], document })).versionId).toBe(versionId);
    expect((await parse({ document, do: [{ a: { set: { x: 1, y: [2, 1] } } }] })).versionId).not.toBe(versionId);
  });

  it('accepts every task, with everything that is common to tasks', async () => {
    const common = {
      if: expression('$context.on'),
      input: { from: expression('.a') },
      output: { as: { b: expression('.c') } },
      export: { as: expression('$context + {d: .}') },
      timeout: { after: 'PT1M' },
      then: 'b/c~d',
    };
    const definition = await parse(
      define(
        { 'b/c~d': { ...set, ...common } },
        { expression: { set: expression('. + {x: $workflow.run_id}') } },
        { create: { call: 'entity.create', with: { entity: 'A_1', data: { x: expression('.x') }, as_user: id } } },
        { list: { call: 'entity.list', with: { entity: expression('.e'), query: { s: 1 }, limit: 1_000 } } },
        { update: { call: 'entity.update', with: { entity: 'B', id, data: expression('.') } } },
        { delete: { call: 'entity.delete', with: { entity: 'B', id: expression('.id') } } },
        { agent: { call: 'agent.send', with: { agent_id: id, content: 'Hello' } } },
        { http: http({ query: { a: expression('.a') }, headers: expression('.h'), body: [1], output: 'response' }) },
        { wait: { wait: 'P1DT2H3M4.5S' } },
        { object: { wait: { days: 1, milliseconds: 5 } } },
        { emit: { emit: { event: { with: { type: 'order.paid', data: { x: expression('.') } } } } } },
        {
          raise: raised({
            type: 'https://example.com/own',
            status: expression('.s'),
            title: 'No',
            detail: expression('.'),
          }),
        },
        {
          loop: {
            for: { each: 'order', in: expression('.orders'), at: 'place' },
            while: expression('$place < 3'),
            do: [
              {
                inner: {
                  for: { in: expression('$order.lines') },
                  do: [{ a: { set: { x: expression('[$item, $index, $order]') } } }],
                },
              },
            ],
          },
        },
        {
          catch: caught({
            as: 'failure',
            when: expression('$failure.status == 500'),
            exceptWhen: expression('$failure.title'),
            errors: { with: { status: 500, title: 'x', detail: 'y', type: 'urn:mine' } },
            retry: {
              limit: { duration: 'PT1H' },
              jitter: { from: { seconds: 1 }, to: 'PT2S' },
              backoff: { linear: {} },
            },
            do: [{ handle: { set: { x: expression('$failure') } } }],
          }),
        },
        { default: caught({ when: expression('$error.status'), as: 'error' }) },
        { connector: request({ query: { a: 1 }, body: expression('.') }) },
      ),
    );
    expect(definition.tasks[0]).toMatchObject({ path: '/do/0/b~1c~0d', timeoutMs: 60_000, then: { task: 'b/c~d' } });
    expect(definition.tasks[8]).toMatchObject({ waitMs: 93_784_500 });
    expect(definition.tasks[9]).toMatchObject({ waitMs: 86_400_005 });
    expect(definition.tasks[13]).toMatchObject({
      catch: {
        retry: {
          delayMs: 1_000,
          backoff: 'linear',
          maxAttempts: 20,
          maxDurationMs: 3_600_000,
          jitterMs: { from: 1_000, to: 2_000 },
        },
      },
    });
    expect(definition.entityNames).toEqual(['A_1', 'B']);
  });

  const faulty: [what: string, source: unknown, path: string, message?: RegExp][] = [
    ['no object', [], '', /object/],
    ['null', null, ''],
    ['a text', 'do', ''],
    ['a missing document', { do: [{ a: set }] }, '/document', /required/],
    ['a missing list', { document }, '/do', /required/],
    ['an empty list', define(), '/do', /non-empty list/],
    ['an object instead of a list', { document, do: { a: set } }, '/do'],
    [
      'another version of the language',
      { document: { ...document, dsl: '0.9.0' }, do: [{ a: set }] },
      '/document/dsl',
      /1\.0\.x/,
    ],
    ['no namespace', { document: { ...document, namespace: undefined }, do: [{ a: set }] }, '/document/namespace'],
    ['a name with spaces', { document: { ...document, name: 'My flow' }, do: [{ a: set }] }, '/document/name'],
    ['a version that is none', { document: { ...document, version: '1' }, do: [{ a: set }] }, '/document/version'],
    [
      'unknown keys of the document',
      { document: { ...document, tags: {} }, do: [{ a: set }] },
      '/document/tags',
      /supported keys: dsl/,
    ],
    ['use', { ...define({ a: set }), use: {} }, '/use', /not supported/],
    ['schedule', { ...define({ a: set }), schedule: {} }, '/schedule', /not supported/],
    ['two names', define({ a: set, b: set }), '/do/0', /one key/],
    ['no name', define({}), '/do/0'],
    ['an empty name', define({ '': set }), '/do/0/', /name of 1 to 100/],
    ['a long name', define({ ['x'.repeat(101)]: set }), `/do/0/${'x'.repeat(101)}`],
    ['a name that is a word of the language', define({ end: set }), '/do/0/end', /must not have a reserved name/],
    ['a repeated name', define({ a: set }, { a: set }), '/do/1/a', /unique in this list/],
    ['a task that is no object', define({ a: 1 }), '/do/0/a'],
    ['a task without a type', define({ a: { if: expression('.') } }), '/do/0/a', /one of the keys call/],
    ['two types', define({ a: { ...set, wait: 'PT1S' } }), '/do/0/a/wait', /not supported here/],
    ['fork', define({ a: { fork: {} } }), '/do/0/a/fork', /not supported/],
    ['listen', define({ a: { listen: {} } }), '/do/0/a/listen'],
    ['run', define({ b: { do: [{ a: { run: {} } }] } }), '/do/0/b/do/0/a/run'],
    ['metadata', define({ a: { ...set, metadata: {} } }), '/do/0/a/metadata'],
    [
      'a text with an expression in it',
      define({ a: { set: { b: 'Dear ${ .name }' } } }),
      '/do/0/a/set/b',
      /must start with \$\{ and end with \}/,
    ],
    [
      'an expression that is not closed',
      define({ a: { set: { b: '${ .name' } } }),
      '/do/0/a/set/b',
      /must start with \$\{ and end with \}/,
    ],
    [
      'an if without an expression',
      define({ a: { ...set, if: '.a' } }),
      '/do/0/a/if',
      /the whole string inside \$\{ … \}/,
    ],
    ['a schema of the input', define({ a: { ...set, input: { schema: {} } } }), '/do/0/a/input/schema'],
    ['an input from a text', define({ a: { ...set, input: { from: '.a' } } }), '/do/0/a/input/from', /expression/],
    ['an export without as', define({ a: { ...set, export: {} } }), '/do/0/a/export/as', /required/],
    ['a named timeout', define({ a: { ...set, timeout: 'short' } }), '/do/0/a/timeout'],
    ['a timeout of nothing', define({ a: { ...set, timeout: { after: 'PT0S' } } }), '/do/0/a/timeout/after'],
    ['a jump to nowhere', define({ a: { ...set, then: 'b' } }), '/do/0/a/then', /same list/],
    ['a jump out of a list', define({ a: { do: [{ b: { ...set, then: 'c' } }] } }, { c: set }), '/do/0/a/do/0/b/then'],
    ['a jump into a list', define({ a: { do: [{ b: set }] } }, { c: { ...set, then: 'b' } }), '/do/1/c/then'],
    ['a set of a text', define({ a: { set: 'x' } }), '/do/0/a/set'],
    ['an empty switch', define({ a: { switch: [] } }), '/do/0/a/switch'],
    ['a case without then', define({ a: { switch: [{ b: {} }] } }), '/do/0/a/switch/0/b/then', /required/],
    ['a case that jumps to nowhere', define({ a: { switch: [{ b: { then: 'x' } }] } }), '/do/0/a/switch/0/b/then'],
    [
      'a case after the default',
      define({ a: { switch: [{ b: { then: 'end' } }, { c: { then: 'end' } }] } }),
      '/do/0/a/switch/0/b',
      /last case/,
    ],
    [
      'a repeated case',
      define({ a: { switch: [{ b: { when: expression('1'), then: 'end' } }, { b: { then: 'end' } }] } }),
      '/do/0/a/switch/1/b',
    ],
    ['an empty do', define({ a: { do: [] } }), '/do/0/a/do'],
    ['a for without in', define({ a: { for: {}, do: [{ b: set }] } }), '/do/0/a/for/in', /required/],
    ['a for without do', define({ a: { for: { in: expression('.') } } }), '/do/0/a/do', /required/],
    ['a for over a list', define({ a: { for: { in: [1] }, do: [{ b: set }] } }), '/do/0/a/for/in'],
    [
      'a variable with a hyphen',
      define({ a: { for: { each: 'a-b', in: expression('.') }, do: [{ b: set }] } }),
      '/do/0/a/for/each',
    ],
    [
      'a reserved variable',
      define({ a: { for: { each: 'context', in: expression('.') }, do: [{ b: set }] } }),
      '/do/0/a/for/each',
      /reserved name \(context/,
    ],
    [
      'a variable of ours',
      define({ a: { for: { at: '__input', in: expression('.') }, do: [{ b: set }] } }),
      '/do/0/a/for/at',
    ],
    [
      'one variable for two',
      define({ a: { for: { each: 'x', at: 'x', in: expression('.') }, do: [{ b: set }] } }),
      '/do/0/a/for/at',
    ],
    ['a try without catch', define({ a: { try: [{ b: set }] } }), '/do/0/a/catch', /required/],
    ['an empty try', define({ a: { try: [], catch: {} } }), '/do/0/a/try'],
    [
      'an unknown type of error',
      define({ a: caught({ errors: { with: { type: 'network' } } }) }),
      '/do/0/a/catch/errors/with/type',
      /one of configuration/,
    ],
    [
      'an unknown standard type',
      define({ a: caught({ errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/x' } } }) }),
      '/do/0/a/catch/errors/with/type',
    ],
    [
      'an instance of an error',
      define({ a: caught({ errors: { with: { instance: '/x' } } }) }),
      '/do/0/a/catch/errors/with/instance',
    ],
    [
      'an expression as title',
      define({ a: caught({ errors: { with: { title: expression('.') } } }) }),
      '/do/0/a/catch/errors/with/title',
    ],
    [
      'a status that is none',
      define({ a: caught({ errors: { with: { status: 99 } } }) }),
      '/do/0/a/catch/errors/with/status',
    ],
    ['a reserved name of the error', define({ a: caught({ as: 'input' }) }), '/do/0/a/catch/as'],
    ['a named retry', define({ a: retrying('often') }), '/do/0/a/catch/retry'],
    [
      '21 retries',
      define({ a: retrying({ limit: { attempt: { count: 21 } } }) }),
      '/do/0/a/catch/retry/limit/attempt/count',
      /1 to 20/,
    ],
    [
      'no retries',
      define({ a: retrying({ limit: { attempt: { count: 0 } } }) }),
      '/do/0/a/catch/retry/limit/attempt/count',
    ],
    [
      'a limit of one attempt',
      define({ a: retrying({ limit: { attempt: { duration: 'PT1S' } } }) }),
      '/do/0/a/catch/retry/limit/attempt/duration',
    ],
    ['two backoffs', define({ a: retrying({ backoff: { linear: {}, constant: {} } }) }), '/do/0/a/catch/retry/backoff'],
    [
      'a backoff with settings',
      define({ a: retrying({ backoff: { linear: { increment: 1 } } }) }),
      '/do/0/a/catch/retry/backoff/linear',
    ],
    [
      'a jitter that is reversed',
      define({ a: retrying({ jitter: { from: 'PT2S', to: 'PT1S' } }) }),
      '/do/0/a/catch/retry/jitter',
    ],
    ['a retry with a condition', define({ a: retrying({ when: expression('1') }) }), '/do/0/a/catch/retry/when'],
    ['a named error', define({ a: raised('x') }), '/do/0/a/raise/error'],
    ['an error without status', define({ a: raised({ type: 'runtime' }) }), '/do/0/a/raise/error/status'],
    [
      'an error with an instance',
      define({ a: raised({ type: 'runtime', status: 500, instance: '/' }) }),
      '/do/0/a/raise/error/instance',
    ],
    ['a wait of 31 days', define({ a: { wait: 'P31D' } }), '/do/0/a/wait', /30 days/],
    ['a wait of a month', define({ a: { wait: 'P1M' } }), '/do/0/a/wait', /without years or months/],
    ['a wait of nothing at all', define({ a: { wait: 'PT' } }), '/do/0/a/wait'],
    ['a wait of an empty object', define({ a: { wait: {} } }), '/do/0/a/wait'],
    ['a wait of weeks in an object', define({ a: { wait: { weeks: 1 } } }), '/do/0/a/wait/weeks'],
    ['a wait of half a second', define({ a: { wait: { seconds: 0.5 } } }), '/do/0/a/wait/seconds'],
    ['a negative wait', define({ a: { wait: { seconds: -1 } } }), '/do/0/a/wait/seconds'],
    [
      'an event with a source',
      define({ a: { emit: { event: { with: { type: 'x', source: 'y' } } } } }),
      '/do/0/a/emit/event/with/source',
    ],
    ['an event without a type', define({ a: { emit: { event: { with: {} } } } }), '/do/0/a/emit/event/with/type'],
    [
      'an event whose type has spaces',
      define({ a: { emit: { event: { with: { type: 'a b' } } } } }),
      '/do/0/a/emit/event/with/type',
    ],
    ['an unknown call', define({ a: { call: 'entity.upsert', with: {} } }), '/do/0/a/call', /must be one of http/],
    ['a call of grpc', define({ a: { call: 'grpc', with: {} } }), '/do/0/a/call', /not supported/],
    [
      'a request without a path',
      define({ a: { call: 'connector.request', with: { integration_type: 'slack', method: 'get' } } }),
      '/do/0/a/with/path',
      /required/,
    ],
    [
      'a request to another host',
      define({ a: request({ path: 'https://example.com/' }) }),
      '/do/0/a/with/path',
      /begins with a slash/,
    ],
    ['a path that goes up', define({ a: request({ path: '/a/../b' }) }), '/do/0/a/with/path', /`\.\.` segments/],
    ['a path with a placeholder', define({ a: request({ path: '/a/{id}' }) }), '/do/0/a/with/path', /braces/],
    ['a path that is too long', define({ a: request({ path: `/${'a'.repeat(1_500)}` }) }), '/do/0/a/with/path'],
    [
      'a connector that cannot exist',
      define({ a: request({ integration_type: 'Sl ack' }) }),
      '/do/0/a/with/integration_type',
      /such as slack/,
    ],
    ['headers of a connector', define({ a: request({ headers: {} }) }), '/do/0/a/with/headers', /not supported here/],
    ['a call that inherits its name', define({ a: { call: 'constructor', with: {} } }), '/do/0/a/call'],
    ['a call without with', define({ a: { call: 'http' } }), '/do/0/a/with', /required/],
    ['redirects', define({ a: http({ redirect: true }) }), '/do/0/a/with/redirect', /never followed/],
    ['an unknown method', define({ a: http({ method: 'fetch' }) }), '/do/0/a/with/method'],
    [
      'an endpoint with another scheme',
      define({ a: http({ endpoint: 'ftp://example.com' }) }),
      '/do/0/a/with/endpoint',
      /https/,
    ],
    ['an endpoint that is no URL', define({ a: http({ endpoint: '/path' }) }), '/do/0/a/with/endpoint'],
    [
      'an endpoint that is an object',
      define({ a: http({ endpoint: { uri: 'https://example.com' } }) }),
      '/do/0/a/with/endpoint',
    ],
    [
      'an endpoint with braces',
      define({ a: http({ endpoint: 'https://example.com/{id}' }) }),
      '/do/0/a/with/endpoint',
      /braces/,
    ],
    [
      'an endpoint with a password',
      define({ a: http({ endpoint: 'https://a:b@example.com/' }) }),
      '/do/0/a/with/endpoint',
    ],
    [
      'a header of ours',
      define({ a: http({ headers: { 'Idempotency-Key': 'x' } }) }),
      '/do/0/a/with/headers/Idempotency-Key',
      /which Plinth sets itself/,
    ],
    ['a header with a line break', define({ a: http({ headers: { x: 'a\nb' } }) }), '/do/0/a/with/headers/x'],
    ['a header whose name is none', define({ a: http({ headers: { 'a b': 'x' } }) }), '/do/0/a/with/headers/a b'],
    ['a header that is a number', define({ a: http({ headers: { x: 1 } }) }), '/do/0/a/with/headers/x'],
    ['an unknown output', define({ a: http({ output: 'raw' }) }), '/do/0/a/with/output'],
    [
      'a name that no entity can have',
      define({ a: { call: 'entity.get', with: { entity: '1', id } } }),
      '/do/0/a/with/entity',
    ],
    ['an id that is none', define({ a: { call: 'entity.get', with: { entity: 'A', id: '1' } } }), '/do/0/a/with/id'],
    [
      'a query for one record',
      define({ a: { call: 'entity.get', with: { entity: 'A', id, query: {} } } }),
      '/do/0/a/with/query',
    ],
    [
      'a record that is a list',
      define({ a: { call: 'entity.create', with: { entity: 'A', data: [] } } }),
      '/do/0/a/with/data',
    ],
    [
      'a limit above 1,000',
      define({ a: { call: 'entity.list', with: { entity: 'A', limit: 1_001 } } }),
      '/do/0/a/with/limit',
    ],
    [
      'a user who is none',
      define({ a: { call: 'entity.list', with: { entity: 'A', as_user: 'me' } } }),
      '/do/0/a/with/as_user',
    ],
    [
      'an agent that is none',
      define({ a: { call: 'agent.send', with: { agent_id: 'x', content: 'y' } } }),
      '/do/0/a/with/agent_id',
    ],
    [
      'a message without content',
      define({ a: { call: 'agent.send', with: { agent_id: id, content: '' } } }),
      '/do/0/a/with/content',
    ],
    ['11 levels of tasks', define({ a: nested(11) }), `/do/0/a${'/do/0/in'.repeat(9)}/do`, /10 levels/],
    [
      'more than 64 levels',
      define({ a: { set: { x: JSON.parse('['.repeat(70) + ']'.repeat(70)) } } }),
      '',
      /64 levels/,
    ],
    ['more than 128 KiB', define({ a: { set: { x: 'x'.repeat(131_072) } } }), '', /131072 bytes/],
    ['a NUL character', define({ a: { set: { x: '\0' } } }), '/do/0/a/set/x', /NUL/],
    ['a NUL character in a key', define({ a: { set: { '\0': 1 } } }), '/do/0/a/set', /key/],
    ['an unpaired surrogate', define({ a: { set: { x: '\ud800' } } }), '/do/0/a/set/x'],
    ['a number that JSON lacks', define({ a: { set: { x: Number.NaN } } }), '/do/0/a/set/x', /finite/],
  ];
  it.each(faulty)('refuses %s', async (_what, source, path, message = /^(must|is) /) => {
    const parsed = await parseDefinition(source, jq);
    const faults = 'faults' in parsed ? parsed.faults : [];
    expect(faults.map((each) => each.path)).toContain(path);
    const found = faults.find((each) => each.path === path);
    expect(found).toMatchObject({ code: 'definition_syntax', message: expect.stringMatching(message) });
    expect(found?.message).toMatch(/^(must|is) /);
    expect(() => parseStored(source)).toThrow('a stored definition is invalid');
  });

  const faultyExpressions: [what: string, task: unknown, path: string, message: RegExp][] = [
    ['that does not compile', { set: { x: [expression('1 +')] } }, '/do/0/a/set/x/0', /empty or incomplete/],
    ['that is empty', { ...set, if: expression('').replace(/ /g, '') }, '/do/0/a/if', /empty/],
    ['with a forbidden function', { set: expression('now') }, '/do/0/a/set', /must not use now/],
    ['with an unknown variable', { set: expression('$error') }, '/do/0/a/set', /undefined variable/],
    [
      'with the variable of a loop, before it',
      { for: { in: expression('$item') }, do: [{ b: set }] },
      '/do/0/a/for/in',
      /variable/,
    ],
    [
      'with the variable of an error, in the try',
      { try: [{ b: { set: expression('$error') } }], catch: {} },
      '/do/0/a/try/0/b/set',
      /variable/,
    ],
    ['with all secrets', { set: expression('$secrets') }, '/do/0/a/set', /\$secrets\.NAME/],
    ['with a computed secret', { set: expression('$secrets[.name]') }, '/do/0/a/set', /\$secrets\.NAME/],
    ['with a secret that none can be', { set: expression('$secrets.key') }, '/do/0/a/set', /\$secrets\.NAME/],
    ['that ends in the brackets of another', { set: expression('1) , (2') }, '/do/0/a/set', /bracket/],
    [
      'that is two expressions',
      { set: `${expression('.a')} ${expression('.b')}` },
      '/do/0/a/set',
      /bracket|syntax error/,
    ],
  ];
  it.each(faultyExpressions)('refuses an expression %s', async (_what, task, path, message) => {
    const parsed = await parseDefinition(define({ a: task }), jq);
    expect(parsed).toEqual({ faults: [{ path, code: 'expression_syntax', message: expect.stringMatching(message) }] });
  });

  it('reports faults and expressions that do not compile in the order of the document', async () => {
    const parsed = await parseDefinition(
      define({ a: { set: { x: expression('1 +') } } }, { b: { wait: 'x' } }, { c: { set: { x: expression('foo') } } }),
      jq,
    );
    expect('faults' in parsed && parsed.faults.map(({ path }) => path)).toEqual([
      '/do/0/a/set/x',
      '/do/1/b/wait',
      '/do/2/c/set/x',
    ]);
  });

  it('counts tasks, those within others too', async () => {
    const tasks = (count: number) => Array.from({ length: count }, (_, index) => ({ [`t${index}`]: set }));
    expect((await parse(define({ all: { do: tasks(199) } }))).tasksByPath.size).toBe(200);
    const parsed = await parseDefinition(define({ all: { do: tasks(250) } }), jq);
    expect(parsed).toMatchObject({
      faults: [{ path: '/do/0/all/do/199/t199', message: 'must not exceed the limit of 200 tasks' }],
    });
  });

  it('counts expressions, and reports at most 100 faults', async () => {
    const many = (count: number, filter: string) =>
      define({ a: { set: { x: Array.from({ length: count }, () => expression(filter)) } } });
    await parse(many(500, '.a'));
    expect(await parseDefinition(many(501, '.a'), jq)).toMatchObject({
      faults: [{ path: '', message: /500 expressions/ }],
    });
    const parsed = await parseDefinition(many(500, 'foo'), jq);
    expect('faults' in parsed && parsed.faults).toHaveLength(100);
  });

  it('reads hostile definitions of 128 KiB in time', async () => {
    const hostile: unknown[] = [
      define({ a: { set: { x: Array.from({ length: 60_000 }, () => 1) } } }),
      define(...Array.from({ length: 20_000 }, () => ({}))),
      define(...Array.from({ length: 8_000 }, (_, index) => ({ [index]: {} }))),
      define({ a: Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`k${index}`, 1])) }),
      define({ a: { set: expression(`"${'\\\\('.repeat(20_000)}`) } }),
      define({ a: { wait: `P${'1'.repeat(120_000)}` } }),
      define({ a: { set: expression('# '.repeat(60_000)) } }),
    ];
    for (const source of hostile) {
      parseAnyway(source);
      expect(measureLeastCpuMs(() => parseAnyway(source))).toBeLessThan(100);
    }
  });

  it('accepts whatever it should, and answers any change of it without throwing', async () => {
    await fc.assert(
      fc.asyncProperty(tasksArbitrary, fc.nat(), fc.jsonValue(), async (tasks, seed, value) => {
        const source = define(...tasks.map((task, index) => ({ [`t${index}`]: task })));
        const definition = await parse(source);
        expect(parseStored(source)).toEqual(definition);
        const parsed = await parseDefinition(change(source, seed, value as Json), jq);
        expect('ok' in parsed || parsed.faults.length > 0).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

function parseAnyway(source: unknown): void {
  try {
    parseStored(source);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('a stored definition'))) throw error;
  }
}

const template = fc.oneof(
  fc.constantFrom(expression('.a'), expression('$context.b // 1')),
  fc.jsonValue({ maxDepth: 2 }).map(withoutNul),
);
const { task: taskArbitrary } = fc.letrec<{ task: unknown }>((tie) => ({
  task: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.record(
      { set: fc.record({ x: template }), then: fc.constantFrom('continue', 'exit', 'end') },
      { requiredKeys: ['set'] },
    ),
    fc.record({ wait: fc.oneof(fc.constantFrom('PT5S', 'P1D'), fc.record({ seconds: fc.nat(1_000) })) }),
    fc.record({
      call: fc.constant('http'),
      with: fc.record({
        method: fc.constant('post'),
        endpoint: fc.webUrl({ validSchemes: ['https'] }).filter((url) => !/[#{}]/.test(url)),
        body: template,
      }),
    }),
    fc.record({
      emit: fc.record({ event: fc.record({ with: fc.record({ type: fc.constant('a.b'), data: template }) }) }),
    }),
    fc.record({ do: fc.array(tie('task'), { minLength: 1, maxLength: 3 }).map(nameAll) }),
    fc.record({
      for: fc.record({ in: fc.constant(expression('.list')) }),
      do: fc.array(tie('task'), { minLength: 1, maxLength: 2 }).map(nameAll),
    }),
    fc.record({
      try: fc.array(tie('task'), { minLength: 1, maxLength: 2 }).map(nameAll),
      catch: fc.record({ as: fc.constantFrom('error', 'oops') }),
    }),
  ),
}));
const tasksArbitrary = fc.array(taskArbitrary, { minLength: 1, maxLength: 4 });

function nameAll(tasks: unknown[]) {
  return tasks.map((task, index) => ({ [`n${index}`]: task }));
}

/** Removes characters that can't be stored or that could start an expression, because other tests cover them. */
function withoutNul(value: unknown): unknown {
  const text = JSON.stringify(value).replaceAll('\\u0000', '').replaceAll('$', 'S');
  return JSON.parse(text.toWellFormed().replace(/\\\\|\\ud[89a-f]../g, ''));
}

/** Returns a copy in which one value, chosen by the seed, is replaced or removed. */
function change(source: unknown, seed: number, value: Json): unknown {
  const copy = structuredClone(source);
  const parents: Record<string, unknown>[] = [];
  const collect = (each: unknown): void => {
    if (typeof each !== 'object' || each === null) return;
    parents.push(each as Record<string, unknown>);
    Object.values(each).forEach(collect);
  };
  collect(copy);
  const parent = parents[seed % parents.length] ?? {};
  const keys = Object.keys(parent);
  const key = keys[seed % Math.max(keys.length, 1)] ?? 'x';
  if (seed % 3 === 0) delete parent[key];
  else if (seed % 3 === 1) parent[key] = value;
  else parent[`${key}x`] = parent[key];
  return copy;
}
