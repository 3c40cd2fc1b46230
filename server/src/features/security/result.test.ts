// Tests how a group's findings are truncated before they are stored.
import { expect, it } from 'vitest';
import type { StoredFinding } from './groups.ts';
import { cut, isTruncated } from './result.ts';

const findings = (count: number, description: string): StoredFinding[] =>
  Array.from({ length: count }, (_, at) => ({
    fingerprint: String(at),
    secondary: null,
    rule_id: 'dependencies/known-vulnerability',
    severity: 'high',
    title: 'A title',
    description,
    recommendation: '',
  }));

it.each([
  ['few', findings(3, 'short'), 3],
  ['too many', findings(1_001, 'short'), 1_000],
  ['too long', findings(30, 'é'.repeat(50_000)), 20],
])('keeps the first of %s findings', (_, all, kept) => {
  expect(cut(all)).toEqual(all.slice(0, kept));
  expect(isTruncated(all)).toBe(kept < all.length);
});
