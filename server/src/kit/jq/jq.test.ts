// Tests that expressions are evaluated within time and memory limits, and can't access anything but their data.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { someOf } from '../../../test/support/cases.ts';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
import { type Jq, openJq } from './index.ts';
import { changeOwner, loadInstance, resetInstance } from './instance.ts';
import { followPaths } from './paths.ts';
import { forbiddenFunctions, scanFilter } from './scan.ts';
import { getJqModule, limitMemory } from './wasm.ts';

const jq = openJq();
afterAll(() => jq.close());

const evaluate = (filter: string, input: unknown = null, variables: Record<string, unknown> = {}) =>
  jq.evaluate([filter], { input, variables });

describe('evaluate', () => {
  it('returns the first output of each filter, or null', async () => {
    const filters = ['.a, .b', 'empty', '$x | length', '"\\($x[1])!"', '. # a comment', '.a # a comment \\'];
    const got = await jq.evaluate(filters, { input: { a: 1, b: 2 }, variables: { x: [1, 2], unused: 3 } });
    expect(got).toEqual({ values: [1, null, 2, '2!', { a: 1, b: 2 }, 1] });
  });

  it('stops after the first output', async () => {
    expect(await evaluate('1, error("late")')).toEqual({ values: [1] });
    expect(await evaluate('repeat(1)')).toEqual({ values: [1] });
  });

  it('says which filter failed, and why', async () => {
    const got = await jq.evaluate(['1', '.a', '2'], { input: 'text', variables: {} });
    expect(got).toEqual({ kind: 'failed', index: 1, error: expect.stringContaining('Cannot index string') });
    expect(await evaluate('error({a: 1})')).toEqual({ kind: 'failed', index: 0, error: '{"a":1}' });
    expect(await evaluate('error(null)')).toEqual({ kind: 'failed', index: 0, error: 'null' });
  });

  it('answers an error that is not one of the filter, and continues', async () => {
    expect(await evaluate('error({__jq: 0})')).toEqual({ values: [null] });
    expect(await evaluate('1 +')).toMatchObject({ kind: 'failed' });
    expect(await evaluate('1')).toEqual({ values: [1] });
  });

  it('keeps values as they are', async () => {
    const values = [0, -0.5, 1e300, 2 ** 53, '\0', '\u{1f600}', '\\ud800', '', {}, [], { 'a\0"\\': [null, true] }];
    expect(await evaluate('.', values)).toEqual({ values: [values] });
    expect(await evaluate('$v', null, { v: values })).toEqual({ values: [values] });
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const expected = JSON.parse(JSON.stringify(value));
        expect(await evaluate('., $v | .', value, { v: 1 })).toEqual({ values: [expected] });
      }),
      { numRuns: someOf(100) },
    );
  });

  it('replaces unpaired surrogates, in texts and keys', async () => {
    expect(await evaluate('.', { 'a\ud800': 'b\udc00', c: '\\ud800' })).toEqual({
      values: [{ 'a\ufffd': 'b\ufffd', c: '\\ud800' }],
    });
  });

  it('follows names as jq does, without jq', async () => {
    const name = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'and');
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: 'small' }, fc.jsonValue({ maxDepth: 1 }), fc.dictionary(name, tie('any'))),
    })).any;
    const path = fc.tuple(fc.constantFrom('', '$v'), fc.array(name, { maxLength: 3 })).map(([base, names]) => {
      const text = base + names.map((each) => `.${each}`).join('');
      return text === '' ? ' . ' : text;
    });
    let followed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(path, { minLength: 1, maxLength: 3 }), value, value, async (paths, input, v) => {
        const data = { input, variables: { v } };
        const got = await jq.evaluate(paths, data);
        const byJq = await jq.evaluate(
          paths.map((each) => `(${each})`),
          data,
        );
        expect(got).toEqual(byJq);
        if (followPaths(paths, JSON.stringify([input, { v }])) !== undefined) followed += 1;
      }),
      { numRuns: someOf(200) },
    );
    expect(followed).toBeGreaterThan(someOf(40));
    expect(await evaluate('.a.b', { a: 1 })).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('number'),
    });
    for (const other of ['..', '.a.', '. a', '$v .a', '.a[0]', '.a?', '."a"', '.a|.b', '$ENV', '$nobody', '1'])
      expect(followPaths([other], '[{"a":{}},{"v":{}}]')).toBeUndefined();
  });

  it('reads an absent input as null', async () => {
    expect(await jq.evaluate(['.'], { input: undefined, variables: {} })).toEqual({ values: [null] });
  });

  it('ends a filter that uses too much CPU time, and answers the next one', async () => {
    for (const filter of ['def f: f; f', '"a" * 60 + "b" | test("(a+)+$")', 'last(range(1e9))'])
      expect(await evaluate(filter)).toMatchObject({ kind: 'timeout' });
    // This one needs more and more memory, too. Which limit it reaches first depends on how busy the machine is.
    expect(await evaluate('[range(1e9)]')).toMatchObject({ kind: expect.stringMatching(/^(timeout|memory)$/) });
    expect(await evaluate('1')).toEqual({ values: [1] });
  });

  it('ends a filter that needs too much memory, and answers the next one', async () => {
    for (const filter of [
      '"x" * 100000000',
      'reduce range(60) as $i ("x"; . + .)',
      'reduce range(9000) as $i (null; [.]) | tojson',
    ])
      expect(await evaluate(filter)).toMatchObject({ kind: 'memory' });
    expect(await evaluate('1')).toEqual({ values: [1] });
  });

  it('leaves no trace of a call that used much memory', async () => {
    // The first call takes about 250 ms, mostly to allocate memory.
    const alone = openJq({ threads: 1, maxCpuMs: 2_000 });
    const run = (filter: string) => alone.evaluate([filter], { input: null, variables: {} });
    for (let round = 0; round < 3; round += 1) {
      expect(await run('"x" * 30000000 | length')).toEqual({ values: [30_000_000] });
      // Deep values fill jq's stack until it fails.
      for (const depth of [2_000, 4_000, 6_000, 8_000])
        await run(`reduce range(${depth}) as $i (null; [.]) | tojson | length`);
      expect(await run('[1, "a", {b: 2}] | tojson | fromjson | .[2].b, ("x" | test("X"; "i"))')).toEqual({
        values: [2],
      });
      expect(await run('"2026-01-02T03:04:05Z" | fromdate | todate')).toEqual({ values: ['2026-01-02T03:04:05Z'] });
    }
    await alone.close();
  });

  it('refuses data and results above 1 MiB, and data that is nested too deeply', async () => {
    const large = 'x'.repeat(1024 * 1024);
    expect(await evaluate('1', large)).toMatchObject({ kind: 'too_large' });
    expect(await evaluate('$v | 1', null, { v: large })).toMatchObject({ kind: 'too_large' });
    expect(await evaluate('1', null, { v: large })).toEqual({ values: [1] }); // not sent, because it is not used
    expect(await evaluate('"x" * 1048577')).toMatchObject({ kind: 'too_large' });
    expect(await evaluate('"é" * 600000')).toMatchObject({ kind: 'too_large' });
    expect(await evaluate('length', 'x'.repeat(1_000_000))).toEqual({ values: [1_000_000] });
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(await evaluate('1', deep)).toMatchObject({ kind: 'too_large' });
  });

  it('answers every depth of values without harm', async () => {
    for (const depth of [64, 1_000, 9_990, 10_100, 50_000]) {
      const got = await evaluate(`reduce range(${depth}) as $i (null; [.])`);
      expect('values' in got || got.kind === 'memory').toBe(true);
    }
    expect(await evaluate('1')).toEqual({ values: [1] });
  });

  it('replaces what is forbidden even where no check was made', async () => {
    for (const name of forbiddenFunctions) {
      const got = await evaluate(`"\\(${name})"`);
      expect(got).toMatchObject({ kind: 'failed' });
      expect(JSON.stringify(await evaluate(`"\\(${name}("x"))"`))).not.toContain('web_user');
    }
    expect(await evaluate('$ENV')).toEqual({ values: [null] });
    expect(await evaluate('$__loc__ | .file')).toEqual({ values: ['<top-level>'] });
    expect(await evaluate('$ARGS')).toEqual({ values: [{ positional: [], named: {} }] });
  });

  it('cuts messages, and masks secrets in them also where jq has cut them', async () => {
    const secret = 'sk_live_0123456789abcdefghijklmnopqrstuvwxyz';
    const run = (filter: string) =>
      jq.evaluate([filter], { input: null, variables: { secrets: { KEY: secret } }, secrets: [secret, ''] });
    for (const filter of [
      'error($secrets.KEY)',
      '$secrets.KEY | tonumber',
      '$secrets.KEY.x',
      '$secrets | .[0]',
      '[$secrets.KEY] | implode',
    ]) {
      const got = await run(filter);
      expect(got).toMatchObject({ kind: 'failed', error: expect.any(String) });
      expect(JSON.stringify(got)).not.toContain('sk_l');
    }
    const got = await evaluate('error("é" * 1000)');
    expect(got).toMatchObject({ error: `${'é'.repeat(199)}…` });
  });

  it('masks secrets that overlap themselves or each other, and those at the cut', async () => {
    const fail = async (text: string, ...secrets: string[]) => {
      const got = await jq.evaluate(['error($text)'], { input: null, variables: { text }, secrets });
      return 'error' in got ? got.error : got;
    };
    expect(await fail('x aaaaaSECRET y', 'aaaaSECRET')).toBe('x *** y');
    expect(await fail('wordaaaaSECRET', 'aaaaSECRET', 'wordaa')).toBe('***');
    expect(await fail('abcdefgh abc abcdX', 'abcdefgh')).toBe('*** abc ***X');
    expect(await fail(`${'x'.repeat(198)}abcdefgh`, 'abcdefgh')).toBe(`${'x'.repeat(198)}***…`);
    expect(await fail(`${'x'.repeat(198)}😀😀😀`)).toBe(`${'x'.repeat(198)}\ufffd…`);
  });

  it('masks a long message in little time, whatever it repeats', async () => {
    const secrets = [
      'abcdefgh',
      'a'.repeat(8_192),
      ...Array.from({ length: 98 }, (_, n) => `${'a'.repeat(8_000)}${n}`),
    ];
    for (const filter of ['error("abcd" * 60000)', 'error("a" * 240000)', 'error({a: ("abcd" * 60000)})']) {
      const before = process.threadCpuUsage();
      const got = await jq.evaluate([filter], { input: null, variables: {}, secrets });
      const { user, system } = process.threadCpuUsage(before);
      expect(got).toMatchObject({ kind: 'failed', error: expect.stringMatching(/\*\*\*…$/) });
      expect((user + system) / 1000).toBeLessThan(500);
    }
  });

  it('throws the reason of a signal that aborts, before and during the evaluation', async () => {
    const controller = new AbortController();
    const evaluation = jq.evaluate(['last(range(1e9))'], { input: null, variables: {} }, controller.signal);
    setTimeout(() => controller.abort(new Error('stopped')), 20);
    await expect(evaluation).rejects.toThrow('stopped');
    await expect(jq.evaluate(['1'], { input: null, variables: {} }, controller.signal)).rejects.toThrow('stopped');
    expect(await evaluate('1')).toEqual({ values: [1] });
  });

  it('replaces a thread that has ended while it was idle', async () => {
    const alone = openJq({ threads: 1, maxIdleMs: 1 });
    for (let round = 0; round < 3; round += 1) {
      expect(await alone.evaluate(['1'], { input: null, variables: {} })).toEqual({ values: [1] });
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await alone.close();
  });

  it('answers busy when too many wait, and after it is closed', async () => {
    const small = openJq({ threads: 1, maxWaitingOfOwner: 2, maxWaiting: 4 });
    const run = (owner: string) => small.evaluate(['1'], { input: null, variables: {}, owner });
    const kinds = (await Promise.all(['a', 'a', 'a', 'a', 'b', 'c'].map(run))).map((got) =>
      'kind' in got ? got.kind : 'ok',
    );
    expect(kinds).toEqual(['ok', 'ok', 'ok', 'busy', 'ok', 'busy']);
    await small.close();
    expect(await run('a')).toMatchObject({ kind: 'busy' });
  });

  it('answers those that wait for a thread to start when it is closed', async () => {
    const small = openJq({ threads: 1 });
    const answers = Array.from({ length: 3 }, () => small.evaluate(['1'], { input: null, variables: {} }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await small.close();
    for (const answer of await Promise.all(answers)) expect('values' in answer || answer.kind === 'busy').toBe(true);
  });

  it('takes turns between owners, so one does not delay another', async () => {
    const order: string[] = [];
    const run = async (owner: string, filter: string, within: Jq) => {
      await within.evaluate([filter], { input: null, variables: {}, owner });
      order.push(owner);
    };
    await Promise.all([
      ...Array.from({ length: 8 }, () => run('loud', 'def f: f; f', jq)),
      ...Array.from({ length: 3 }, () => run('quiet', '1', jq)),
    ]);
    expect(order.slice(0, 4).filter((owner) => owner === 'quiet')).toHaveLength(3);
  });
});

describe('check', () => {
  const check = (filter: string, variables: string[] = []) => jq.check(filter, variables);

  it('accepts a filter that compiles with its variables', async () => {
    for (const filter of [
      '.',
      '$x + 1',
      '. as {a: $y} | $y',
      'def f(g): g; f(.)',
      '1 # \\',
      '"a" # "',
      'label $f | break $f',
    ])
      expect(await check(filter, ['x'])).toBeUndefined();
  });

  it('says what is wrong and where, without repeating the filter', async () => {
    const expected: [string, string][] = [
      ['$y', 'must be valid jq: undefined variable at line 1, column 1'],
      ['.a |\n foo', 'must be valid jq: undefined function or wrong number of arguments at line 2, column 2'],
      ['1 2', 'must be valid jq: syntax error at line 1, column 3'],
      ['1 +', 'must be valid jq: the expression is empty or incomplete'],
      ['', 'must be valid jq: the expression is empty or incomplete'],
      ['break $f', 'must be valid jq: break to an undefined label at line 1, column 1'],
      ['1) , (2', 'must be valid jq: unbalanced brackets or `end`, or an unterminated string'],
      ['"\\(1"', 'must be valid jq: unbalanced brackets or `end`, or an unterminated string'],
      ['if 1 then 2', 'must be valid jq: unbalanced brackets or `end`, or an unterminated string'],
      ['"\0"', 'must not contain a NUL character'],
      [`"${'x'.repeat(16_384)}"`, 'must be at most 16384 bytes long'],
      ['-'.repeat(16_000), 'is nested too deeply'],
      ['env', 'must not use env'],
      ['$ENV | input', 'must not use $ENV, input'],
    ];
    for (const [filter, message] of expected) expect([filter, await check(filter)]).toEqual([filter, message]);
  });

  it('finds every faulty filter among many', async () => {
    const filters = Array.from({ length: 120 }, (_, index) =>
      index % 12 === 5 ? `${index} ${index}` : index % 12 === 7 ? `f${index}` : `.a${index}`,
    );
    const problems = await jq.checkAll(filters.map((filter) => ({ filter, variables: [] })));
    expect(problems.flatMap((problem, index) => (problem === undefined ? [] : [index]))).toEqual(
      filters.flatMap((filter, index) => (filter.startsWith('.') ? [] : [index])),
    );
  });

  it('finds the filter that takes too long to compile', async () => {
    const slow = `def f(g): g; ${'f('.repeat(3_000)}1${')'.repeat(3_000)}`;
    const problems = await jq.checkAll(['.a', slow, '.b'].map((filter) => ({ filter, variables: [] })));
    expect(problems).toEqual([undefined, expect.stringMatching(/^is too complex /), undefined]);
  });

  it('never throws, and what it accepts compiles', async () => {
    const part = fc.constantFrom(
      '.',
      'a',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '"',
      '\\(',
      '|',
      ',',
      'if',
      'then',
      'end',
      '$x',
      '#',
      '\n',
      ' ',
      'env',
      ':',
      '1',
      '\\',
      '..',
      '?',
      'é',
      'as',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        const filter = parts.join('');
        if ((await check(filter, ['x'])) !== undefined) return;
        const got = await evaluate(filter, { a: 1 }, { x: 2 });
        expect('error' in got ? got.error : '').not.toContain('compile error');
      }),
      { numRuns: someOf(300) },
    );
  });
});

describe('scanFilter', () => {
  it('finds forbidden names where they are functions or variables', () => {
    for (const filter of [
      'env',
      '.a | env',
      '"\\(env)"',
      '."\\(env)"',
      '@base64 "x\\(1 + env)y"',
      '{(env): 1}',
      '{a: env}',
      '{"a": env}',
      '.[env:]',
      '{a: if 1, env then 1 else 2 end}',
      'def env: 1; 1',
      '# x\nenv',
      '# x \\\\\nenv',
      '"#" | env',
      '{$ENV}',
      '{"\\(env)": 1}',
      '[1, env]',
      '{a: (1, env)}',
      '1.env',
    ])
      expect([filter, scanFilter(filter).forbidden.length]).toEqual([filter, 1]);
  });

  it('lets the same words be fields, keys, texts and comments', () => {
    for (const filter of [
      '.env',
      '.a.env',
      '.a?.env',
      '{env}',
      '{env: 1}',
      '{a: 1, env: 2}',
      '{a: 1, env}',
      '"env"',
      '"\\"env"',
      '# env',
      '1 # \\\nenv',
      '1 # \\\r\nenv',
      '."env"',
      '.["env"]',
      '. as {env: $x} | $x',
      '$env',
      '{$input}',
      '$__loc__',
      '{if: 1, env: 2}',
      '{end: 1}',
      '@env "x"',
      'environment',
      'a::env',
    ])
      expect([filter, scanFilter(filter).forbidden]).toEqual([filter, []]);
  });

  it('lists the variables, with the field that follows', () => {
    expect(scanFilter('$a.b + $c[0] + "\\($d .e)" | {$f} | .$g').variables).toEqual([
      { name: 'a', field: 'b' },
      { name: 'c' },
      { name: 'd', field: 'e' },
      { name: 'f' },
      { name: 'g' },
    ]);
  });

  it('takes time in proportion to the filter', () => {
    for (const part of ['$ ', 'a', '#', '# ', '"', '\\', 'a::', '{', '"\\(', '1.', ' ', '$secrets ', '$a\n']) {
      const filter = part.repeat(131_072 / part.length);
      expect(
        measureLeastCpuMs(() => scanFilter(filter)),
        part,
      ).toBeLessThan(500);
    }
  });
});

describe('changeOwner', () => {
  it.each([
    ['a', 'b'],
    ['', ''],
  ])('leaves nothing of what a call of "%s" has read to "%s", and jq continues', async (first, second) => {
    const module = await getJqModule();
    const secret = 'sk_live_0123456789';
    let instance = await loadInstance(module);
    const isInMemory = () => Buffer.from(instance.memory.buffer).includes(secret);
    const input = JSON.stringify(Array.from({ length: 20_000 }, () => secret));
    changeOwner(instance, first);
    expect(instance.jq.raw(input, 'map(. + "x") | length', ['-c']).stdout).toBe('20000');
    instance = await resetInstance(instance, module);
    expect(isInMemory()).toBe(true);
    changeOwner(instance, second);
    expect(isInMemory()).toBe(false);
    expect(instance.jq.raw('[1,2]', 'add', ['-c']).stdout).toBe('3');
  });
});

describe('limitMemory', () => {
  const bytes = readFileSync(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'));

  it('changes the maximum and nothing else', () => {
    const limited = limitMemory(bytes, 1024);
    const changed = [...bytes.keys()].filter((offset) => bytes[offset] !== limited[offset]);
    expect(limited).toHaveLength(bytes.length);
    expect(changed).toHaveLength(1);
  });

  it('refuses a module that it does not understand', () => {
    expect(() => limitMemory(bytes, 8)).toThrow('not declared as expected');
    expect(() => limitMemory(bytes.subarray(0, 8), 1024)).toThrow('no memory of its own');
  });
});
