// Tests the numbering of identical findings, and their fingerprints.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AnyFinding } from './groups.ts';
import { forgetOldNumbers, numberFindings, type RememberedNumber } from './numbers.ts';

const now = new Date('2026-11-16T09:00:00Z');
const later = (days: number) => new Date(now.getTime() + days * 24 * 60 * 60 * 1000);

const at = (path: string, line: number, identity = ['pay', 'fetch ( url )']): AnyFinding => ({
  rule_id: 'ssrf',
  severity: 'high',
  title: 'A title',
  description: '',
  recommendation: '',
  identity,
  secondary: 's',
  position: { path, line },
  item: {},
});

/** Scans again with the numbers from the previous scan. Returns each finding's fingerprint. */
function createScans() {
  let remembered: readonly RememberedNumber[] = [];
  return (findings: readonly AnyFinding[], isWhole = true) => {
    const { numbered, numbers } = numberFindings('static', findings, remembered, isWhole, now);
    remembered = numbers;
    return findings.map((finding) => numbered.find((each) => each.finding === finding)?.fingerprint);
  };
}

const fingerprintOf = (number: number) =>
  createHash('sha256')
    .update(['v1', 'ssrf', 'pay', 'fetch ( url )', String(number)].join('\0'))
    .digest('hex');

describe('fingerprints', () => {
  it('are the hash of version, rule, identity and number, separated by NUL', () => {
    expect(createScans()([at('a.ts', 10), at('b.ts', 1)])).toEqual([fingerprintOf(0), fingerprintOf(1)]);
  });

  it('stay when lines move and files are renamed', () => {
    const scan = createScans();
    const [before] = scan([at('a.ts', 10)]);
    expect(scan([at('a.ts', 99)])).toEqual([before]);
    expect(scan([at('renamed/b.ts', 1)])).toEqual([before]);
  });

  it('differ for a copy, wherever its file sorts', () => {
    const scan = createScans();
    const [original] = scan([at('m.ts', 10)]);
    expect(scan([at('a.ts', 1), at('m.ts', 14)])).toEqual([fingerprintOf(1), original]);
    expect(scan([at('a.ts', 1), at('m.ts', 14), at('m.ts', 20)])).toEqual([
      fingerprintOf(1),
      original,
      fingerprintOf(2),
    ]);
  });

  it('of a finding that is gone are not given to a new one in another file', () => {
    const scan = createScans();
    const [first] = scan([at('a.ts', 1), at('b.ts', 1)]);
    scan([at('b.ts', 1)]);
    const [kept, copy] = scan([at('b.ts', 1), at('c.ts', 1)]);
    expect(kept).toBe(fingerprintOf(1));
    expect(copy).toBe(fingerprintOf(2));
    expect(copy).not.toBe(first);
  });

  it('return when the code returns to its file', () => {
    const scan = createScans();
    const [before] = scan([at('a.ts', 10)]);
    scan([]);
    expect(scan([at('a.ts', 12)])).toEqual([before]);
  });

  it('of files that were perhaps not read are not given to other files', () => {
    const scan = createScans();
    const [before] = scan([at('a.ts', 10)]);
    expect(scan([at('b.ts', 3)], false)).not.toEqual([before]);
    expect(scan([at('a.ts', 10), at('b.ts', 3)])[0]).toBe(before);
  });

  it('of a group that was looked at in part are not taken as gone', () => {
    const scan = createScans();
    const [before] = scan([at('a.ts', 10)]);
    scan([], false);
    expect(scan([at('renamed.ts', 10)])).toEqual([before]);
  });
});

describe('forgetOldNumbers', () => {
  it('forgets numbers that were absent for 180 days, and never those that are in use', () => {
    const number = { group: 'static', key: 'k', number: 0, path: 'a', line: 1, seenAt: now.toISOString() } as const;
    const numbers = [
      { ...number, isPresent: false },
      { ...number, number: 1, isPresent: true },
    ];
    expect(forgetOldNumbers(numbers, later(179))).toHaveLength(2);
    expect(forgetOldNumbers(numbers, later(181))).toEqual([numbers[1]]);
  });
});
