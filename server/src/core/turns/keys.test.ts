// Tests finding keys in code, with a table of cases.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
import { findKeys } from './keys.ts';

describe('keys', () => {
  it.each([
    ['AKIAIOSFODNN7EXAMPLE', 'an AWS access key'],
    [`sk-ant-api03-${'x'.repeat(30)}`, 'an Anthropic API key'],
    [`sk-proj-${'x'.repeat(40)}`, 'an OpenAI API key'],
    [`ghp_${'a'.repeat(36)}`, 'a GitHub token'],
    [`xoxb-${'1'.repeat(24)}`, 'a Slack token'],
    ['-----BEGIN RSA PRIVATE KEY-----', 'a private key'],
    ['-----BEGIN PRIVATE KEY-----', 'a private key'],
    [`plp_${'a'.repeat(40)}`, 'a token of this platform'],
  ])('are found: %s', (key, kind) => {
    expect(findKeys(`let a;\nlet k = '${key}';`)).toEqual([{ line: 2, kind }]);
  });

  it.each(['sk-button', 'AKIA', 'npm_config', 'class="sk-cube sk-cube1"', '-----BEGIN PUBLIC KEY-----', 'plp_short'])(
    'are not seen in: %s',
    (text) => expect(findKeys(text)).toEqual([]),
  );
});

it('finding keys takes less than two seconds for a file of 5 MiB, and counts its lines', () => {
  const key = `plp_${'a'.repeat(40)}`;
  const text = `${'\n'.repeat(5 * 1024 * 1024)}${`${key} ${key}\n`.repeat(30)}`;
  expect(measureLeastCpuMs(() => findKeys(text))).toBeLessThan(2_000);
  const found = findKeys(text);
  expect(found).toHaveLength(20);
  expect(found.at(-1)).toEqual({ line: 5 * 1024 * 1024 + 20, kind: 'a token of this platform' });
});

it('a line with keys of several kinds is reported once', () => {
  const text = `sk-ant-${'a'.repeat(32)}\nlet a;\nAKIA${'A'.repeat(16)} plp_${'a'.repeat(40)}`;
  expect(findKeys(text)).toEqual([
    { line: 1, kind: 'an Anthropic API key' },
    { line: 3, kind: 'an AWS access key' },
  ]);
});
