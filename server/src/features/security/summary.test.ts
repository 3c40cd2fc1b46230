// Tests a result's summary in all languages.
import { describe, expect, it } from 'vitest';
import { languages } from './contract.ts';
import type { CoverageOfGroups, StoredFinding, StoredGroups } from './groups.ts';
import { summarise } from './summary.ts';

const ran = { value: 'ran' } as const;
const allRan: CoverageOfGroups = {
  rls: ran,
  secrets: ran,
  functions: ran,
  dependencies: ran,
  static: ran,
  headers: ran,
};
const partly: CoverageOfGroups = { ...allRan, static: { value: 'off' } };
const nothing: StoredGroups = { rls: [], secrets: [], functions: [], dependencies: [], static: [] };
const finding = (severity: StoredFinding['severity']): StoredFinding => ({
  fingerprint: 'f',
  secondary: null,
  rule_id: 'r',
  severity,
  title: '',
  description: '',
  recommendation: '',
});
const some: StoredGroups = { ...nothing, secrets: [finding('high'), finding('low')] };

describe('the summary', () => {
  it('counts findings and headers, and says what was not looked at', () => {
    expect(summarise('en', nothing, 0, allRan)).toBe('The scan found no problems in what it checked.');
    expect(summarise('en', some, 1, partly)).toBe(
      'The scan found 2 problems, 1 of them critical or high. 1 security header can be improved. Not checked, or only partially checked: static.',
    );
    expect(summarise('en', nothing, 2, allRan)).toBe('2 security headers can be improved.');
  });

  it.each(languages)('has one to three sentences in %s', (language) => {
    for (const [groups, headers] of [
      [nothing, 0],
      [some, 1],
      [some, 2],
    ] as const) {
      const sentences = summarise(language, groups, headers, partly)
        .split(/[.。]\s*/)
        .filter(Boolean);
      expect(sentences.length).toBeGreaterThanOrEqual(1);
      expect(sentences.length).toBeLessThanOrEqual(3);
    }
  });
});
