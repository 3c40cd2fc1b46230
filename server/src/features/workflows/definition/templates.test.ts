// Tests that a template's expressions are found and replaced with their values.
import { afterAll, describe, expect, it } from 'vitest';
import { openJq } from '../../../kit/jq/index.ts';
import { evaluateTemplates, listExpressions } from './templates.ts';

const jq = openJq();
afterAll(() => jq.close());

const expression = (filter: string) => `\${${filter}}`;
const data = { input: { id: 'a1', tags: ['x', 'y'] }, variables: { context: { n: 2 } } };

describe('listExpressions', () => {
  it('lists texts that are wholly expressions, each once', () => {
    const template = {
      a: expression(' .x '),
      b: [expression(' .y '), { c: expression(' .x ') }],
      d: `Dear ${expression('.x')}`,
      [expression('.key')]: 1,
      e: expression(''),
      f: ` ${expression('.z')}`,
    };
    expect(listExpressions(template)).toEqual([' .x ', ' .y ', '']);
    expect(listExpressions(expression('{a: "}"}'))).toEqual(['{a: "}"}']);
    expect(listExpressions(null)).toEqual([]);
  });
});

describe('evaluateTemplates', () => {
  it('replaces expressions by their values, and keeps everything else', async () => {
    const templates = {
      url: expression('"https://example.com/\\(.id)"'),
      body: {
        id: expression('.id'),
        all: [1, expression('.tags'), null, `Dear ${expression('.id')}`],
        n: expression('$context.n + 1'),
        none: expression('empty'),
      },
      plain: 'text',
    };
    expect(await evaluateTemplates(jq, templates, data)).toEqual({
      values: {
        url: 'https://example.com/a1',
        body: { id: 'a1', all: [1, ['x', 'y'], null, `Dear ${expression('.id')}`], n: 3, none: null },
        plain: 'text',
      },
    });
  });

  it('names the template that failed', async () => {
    const templates = { body: expression('.id'), url: [expression('.id.x')] };
    expect(await evaluateTemplates(jq, templates, data)).toMatchObject({ kind: 'failed', template: 'url' });
  });

  it('keeps keys that are named like parts of all objects', async () => {
    const template = JSON.parse(`{"__proto__": "${expression('.id')}", "constructor": 1}`);
    const got = await evaluateTemplates(jq, { template }, data);
    expect(JSON.stringify(got)).toBe('{"values":{"template":{"__proto__":"a1","constructor":1}}}');
  });

  it('does not need jq if there is no expression', async () => {
    const closed = openJq();
    await closed.close();
    expect(await evaluateTemplates(closed, { a: ['x', 1] }, data)).toEqual({ values: { a: ['x', 1] } });
    expect(await evaluateTemplates(closed, { a: expression('1') }, data)).toMatchObject({ kind: 'busy' });
  });
});
