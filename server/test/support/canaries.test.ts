// Tests which processes count as left behind by an attempt.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isExiting } from './canaries.ts';

it.each([
  ['exiting, and listed as running', '8679 (bwrap) R 1 8679 8679 0 -1 4195660 46 113 0 0', true],
  ['a zombie', '7 (a) Z) Z 1 7 7 0 -1 4194304 0 0', true],
  ['running', '7 (a) R 1 7 7 0 -1 4194304 0 0', false],
  ['sleeping, and named like a zombie', '7 (a) Z 1) S 1 7 7 0 -1 4194560 0 0', false],
])('a process that is %s', (_, stat, expected) => {
  expect(isExiting(stat)).toBe(expected);
});

it('a process that runs is left behind', () => {
  const child = spawn('sleep', ['30']);
  try {
    expect(isExiting(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))).toBe(false);
  } finally {
    child.kill('SIGKILL');
  }
});
