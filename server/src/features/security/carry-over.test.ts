// Tests how ignores are carried over when an app is scanned again.
import { describe, expect, it } from 'vitest';
import { carryOver, toCoveredRules } from './carry-over.ts';
import type { CoverageOfGroups, StoredFinding, StoredGroups } from './groups.ts';
import type { IgnoreRow } from './store.ts';

const now = new Date('2026-11-16T09:00:00Z');
const ran = { value: 'ran' } as const;
const allRan: CoverageOfGroups = {
  rls: ran,
  secrets: ran,
  functions: ran,
  dependencies: ran,
  static: ran,
  headers: ran,
};
const nothing: StoredGroups = { rls: [], secrets: [], functions: [], dependencies: [], static: [] };

const finding = (fingerprint: string, secondary: string | null, more: object = {}): StoredFinding => ({
  fingerprint,
  secondary,
  rule_id: 'r',
  severity: 'high',
  title: 't',
  description: '',
  recommendation: '',
  ...more,
});

const ignore = (fingerprint: string, more: Partial<IgnoreRow> = {}): IgnoreRow => ({
  app_id: 'a',
  workspace_id: 'w',
  fingerprint,
  finding_type: 'static_code',
  file_path: null,
  title: null,
  reason: null,
  secondary: null,
  covered_rules: null,
  absent_since: null,
  created_by: 'ann@example.com',
  created_date: now,
  ...more,
});

/** `before` lists the fingerprints of the previous code findings, which all have the statement "s". */
const scan = (ignores: IgnoreRow[], groups: Partial<StoredGroups>, before: string[] = [], coverage = allRan) =>
  carryOver(ignores, { ...nothing, ...groups }, coverage, {
    ...nothing,
    static: before.map((fingerprint) => finding(fingerprint, 's', { file_path: 'a.ts' })),
  });

describe('an ignore', () => {
  it('goes with a finding whose neighbours alone have changed', () => {
    const got = scan([ignore('old', { secondary: 's' })], { static: [finding('new', 's', { file_path: 'a.ts' })] }, [
      'old',
    ]);
    expect(got).toEqual({ renamed: [{ from: 'old', to: 'new' }], added: [], found: ['new'], absent: [] });
  });

  it('does not go to a finding that was reported before and not ignored', () => {
    const got = scan([ignore('old', { secondary: 's' })], { static: [finding('other', 's')] }, ['old', 'other']);
    expect(got).toMatchObject({ renamed: [], absent: ['old'] });
  });

  it('does not go to a finding if its own has been gone for longer', () => {
    const got = scan([ignore('old', { secondary: 's' })], { static: [finding('new', 's', { file_path: 'a.ts' })] });
    expect(got).toMatchObject({ renamed: [], absent: ['old'] });
  });

  it('does not go to a finding in another file', () => {
    const got = scan([ignore('old', { secondary: 's' })], { static: [finding('new', 's', { file_path: 'b.ts' })] }, [
      'old',
    ]);
    expect(got).toMatchObject({ renamed: [], absent: ['old'] });
  });

  it('does not go to another finding while its file was perhaps not read', () => {
    const coverage = { ...allRan, static: { value: 'partial', reason: 'too_large' } } as const;
    const got = scan(
      [ignore('old', { secondary: 's' })],
      { static: [finding('new', 's', { file_path: 'a.ts' })] },
      ['old'],
      coverage,
    );
    expect(got).toMatchObject({ renamed: [], absent: [] });
  });

  it('covers one finding, not its copies', () => {
    const got = scan(
      [ignore('old', { secondary: 's' })],
      { static: [finding('a', 's', { file_path: 'a.ts' }), finding('b', 's', { file_path: 'a.ts' })] },
      ['old'],
    );
    expect(got.renamed).toEqual([{ from: 'old', to: 'a' }]);
  });

  it('stays with its own finding, whatever else has the same statement', () => {
    const got = scan([ignore('kept', { secondary: 's' })], { static: [finding('kept', 's'), finding('copy', 's')] });
    expect(got).toEqual({ renamed: [], added: [], found: ['kept'], absent: [] });
  });

  it('is absent only if its group was looked at', () => {
    const coverage = { ...allRan, static: { value: 'partial', reason: 'too_large' } } as const;
    expect(scan([ignore('gone')], {}, [], coverage).absent).toEqual([]);
    expect(scan([ignore('gone', { finding_type: 'rls' })], {}, [], coverage).absent).toEqual(['gone']);
    expect(scan([ignore('gone', { finding_type: null })], {}, [], coverage).absent).toEqual([]);
    expect(scan([ignore('gone')], {}).absent).toEqual(['gone']);
  });
});

describe('an ignore of row rules', () => {
  const open = (fingerprint: string, rules: Record<string, unknown>, entity_name = 'Order') =>
    finding(fingerprint, null, { entity_name, open_operations: Object.keys(rules), current_rules: rules });
  const wide = open('wide', { read: true, update: { status: 'open', owner: 1 } });
  const ignored = ignore('wide', { finding_type: 'rls', covered_rules: { ...toCoveredRules(wide) } as never });

  it('also covers fewer open operations with the same rules', () => {
    const narrow = open('narrow', { update: { owner: 1, status: 'open' } });
    expect(scan([ignored], { rls: [narrow] })).toMatchObject({ added: [{ fingerprint: 'narrow' }], absent: ['wide'] });
  });

  it.each([
    ['another rule', open('x', { update: { status: 'closed', owner: 1 } })],
    ['another operation', open('x', { read: true, delete: true })],
    ['another entity', open('x', { read: true }, 'Invoice')],
  ])('does not cover %s', (_name, other) => {
    expect(scan([ignored], { rls: [other] }).added).toEqual([]);
  });
});
