// Tests which versions an advisory affects, according to its OSV ranges.
import { describe, expect, it } from 'vitest';
import type { Advisory, AdvisoryRange } from '../../../gateways/advisories/index.ts';
import { highestFix, readEffects } from './affected.ts';
import { scoreOf, severityOf } from './severity.ts';

type Events = AdvisoryRange['events'];
const advisory = (affected: Partial<Advisory['affected'][number]>[], more: Partial<Advisory> = {}): Advisory => ({
  id: 'GHSA-1',
  modified: '2026-01-01T00:00:00Z',
  summary: '',
  aliases: [],
  severity: [],
  database_specific: null,
  affected: affected.map((each) => ({
    package: { name: 'left', ecosystem: 'npm' },
    ranges: [],
    versions: [],
    ...each,
  })),
  ...more,
});
const range = (...events: Events): AdvisoryRange => ({ type: 'SEMVER', events });

const findEffect = (from: Advisory, name: string, version: string) => readEffects(from, name)(version);
const isWithin = (version: string, events: Events) =>
  findEffect(advisory([{ ranges: [range(...events)] }]), 'left', version) !== undefined;

describe('the ranges', () => {
  const twoRanges: Events = [{ introduced: '1.0.0' }, { fixed: '1.5.0' }, { introduced: '2.0.0' }, { fixed: '2.3.0' }];

  it.each<[string, Events, boolean]>([
    ['4.17.20', [{ introduced: '0' }, { fixed: '4.17.21' }], true],
    ['4.17.21', [{ introduced: '0' }, { fixed: '4.17.21' }], false],
    ['4.17.21-rc.1', [{ introduced: '0' }, { fixed: '4.17.21' }], true],
    ['0.0.0-x', [{ introduced: '0' }, { fixed: '1.0.0' }], true],
    ['0.9.9', twoRanges, false],
    ['1.4.9', twoRanges, true],
    ['1.5.0', twoRanges, false],
    ['2.0.0-rc.1', twoRanges, false],
    ['2.2.9', twoRanges, true],
    ['2.3.0', twoRanges, false],
    ['2.2.9', twoRanges.toReversed(), true],
    ['1.7.0', twoRanges.toReversed(), false],
    ['2.0.1', [{ introduced: '0' }, { last_affected: '2.0.1' }], true],
    ['2.0.2', [{ introduced: '0' }, { last_affected: '2.0.1' }], false],
    ['9.0.0', [{ introduced: '3.0.0' }], true],
    ['3.0.0', [{ introduced: '1.0.0' }, { limit: '3.0.0' }], false],
    ['1.0.0', [], false],
    ['1.0.0', [{ introduced: 'nonsense' }], false],
    ['nonsense', [{ introduced: '0' }], false],
    ['1.0.0+build', [{ introduced: '1.0.0' }, { fixed: '1.0.1' }], true],
  ])('says of %s in %j: %s', (version, events, expected) => {
    expect(isWithin(version, events)).toBe(expected);
  });
});

describe('readEffects', () => {
  it('says which versions are concerned, and the next that is fixed', () => {
    const both = advisory([
      { ranges: [range({ introduced: '0' }, { fixed: '1.5.0' })] },
      { ranges: [range({ introduced: '2.0.0' }, { fixed: '2.3.0' })] },
    ]);
    const vulnerableRange = '<1.5.0 || >=2.0.0 <2.3.0';
    expect(findEffect(both, 'left', '1.0.0')).toEqual({ vulnerableRange, fixedVersion: '1.5.0' });
    expect(findEffect(both, 'left', '2.1.0')).toEqual({ vulnerableRange, fixedVersion: '2.3.0' });
    expect(findEffect(both, 'left', '1.6.0')).toBeUndefined();
    expect(findEffect(both, 'right', '1.0.0')).toBeUndefined();
  });

  it('knows listed versions, ranges without an end, and no fix', () => {
    expect(findEffect(advisory([{ versions: ['3.3.6'] }]), 'left', '3.3.6')).toEqual({
      vulnerableRange: '=3.3.6',
      fixedVersion: null,
    });
    const open = advisory([{ ranges: [range({ introduced: '0' })] }]);
    expect(findEffect(open, 'left', '1.0.0')).toEqual({ vulnerableRange: '*', fixedVersion: null });
    const last = advisory([{ ranges: [range({ introduced: '1.0.0' }, { last_affected: '2.0.1' })] }]);
    expect(findEffect(last, 'left', '1.0.0')?.vulnerableRange).toBe('>=1.0.0 <=2.0.1');
  });

  it('leaves other ecosystems and ranges of commits alone', () => {
    const other = advisory([{ package: { name: 'left', ecosystem: 'PyPI' }, ranges: [range({ introduced: '0' })] }]);
    expect(findEffect(other, 'left', '1.0.0')).toBeUndefined();
    const commits = advisory([{ ranges: [{ type: 'GIT', events: [{ introduced: '0' }] }] }]);
    expect(findEffect(commits, 'left', '1.0.0')).toBeUndefined();
  });

  it('cuts long ranges', () => {
    const versions = Array.from({ length: 400 }, (_, patch) => `1.0.${patch}`);
    const text = findEffect(advisory([{ versions }]), 'left', '1.0.1')?.vulnerableRange ?? '';
    expect(text.length).toBeLessThanOrEqual(500);
    expect(text).toMatch(/=1\.0\.\d+ \|\| …$/);
  });
});

it.each([
  [['1.5.0', '2.3.0'], '2.3.0'],
  [['1.5.0', null], null],
  [['1.10.0', '1.9.0'], '1.10.0'],
  [[], null],
])('highestFix of %j is %s', (fixes, expected) => {
  expect(highestFix(fixes)).toBe(expected);
});

describe('severityOf', () => {
  // The examples from the CVSS 3.1 specification, with scores from its calculator.
  it.each([
    ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 9.8],
    ['CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 6.1],
    ['CVSS:3.0/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N', 6.4],
    ['CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H', 7.2],
    ['CVSS:3.1/AV:P/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N', 0],
    ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H', 10],
    ['7.5', 7.5],
    ['CVSS:3.1/nonsense', undefined],
  ])('computes the score of %s: %s', (vector, score) => {
    expect(scoreOf(vector)).toBe(score);
  });

  it.each<[Partial<Advisory>, string]>([
    [{ database_specific: { severity: 'MODERATE' }, severity: [{ type: 'CVSS_V3', score: '9.9' }] }, 'medium'],
    [{ severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H' }] }, 'high'],
    [
      { severity: [{ type: 'CVSS_V4', score: 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N' }] },
      'critical',
    ],
    [{ id: 'MAL-2026-1' }, 'critical'],
    [{}, 'medium'],
  ])('of %j is %s', (more, expected) => {
    expect(severityOf(advisory([], more))).toBe(expected);
  });
});
