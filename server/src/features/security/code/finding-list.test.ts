// Tests the finding list, which keeps the most severe findings.
import { describe, expect, it } from 'vitest';
import type { Finding, Severity } from '../finding.ts';
import { createFindingList } from './finding-list.ts';

const findingAt = (line: number, severity: Severity): Finding<object> => ({
  rule_id: 'code.sample',
  severity,
  title: '',
  description: '',
  recommendation: '',
  identity: ['a'],
  secondary: null,
  position: { path: 'src/a.ts', line },
  item: {},
});

describe('the findings of a group', () => {
  it('are listed once each', () => {
    const findings = createFindingList<object>(3);
    for (const line of [1, 2, 1, 2, 3, 3]) findings.add(findingAt(line, 'low'));
    expect(findings.list().map(({ position }) => position.line)).toEqual([1, 2, 3]);
    expect(findings.isComplete()).toBe(true);
  });

  it('are the most severe if there are too many, and say that some were dropped', () => {
    const findings = createFindingList<object>(3);
    for (let line = 1; line <= 20; line += 1) findings.add(findingAt(line, line === 19 ? 'critical' : 'medium'));
    expect(findings.isComplete()).toBe(false);
    expect(findings.list().map(({ position }) => position.line)).toEqual([19, 1, 2]);
    expect(findings.isComplete()).toBe(false);
  });
});
