// Defines how many findings per group are kept while an app is read. If there are too many, the most severe are kept.
import { type Finding, severities } from '../finding.ts';

export interface FindingList<Item> {
  add(finding: Finding<Item>): void;
  list(): readonly Finding<Item>[];
  /** False if findings had to be dropped. */
  isComplete(): boolean;
}

export function createFindingList<Item>(maxFindings: number): FindingList<Item> {
  let kept = new Map<string, Finding<Item>>();
  let isComplete = true;

  function drop(): void {
    if (kept.size <= maxFindings) return;
    isComplete = false;
    kept = new Map(
      [...kept].toSorted(([, a], [, b]) => bySeverity(a, b)).slice(0, maxFindings), // the sort is stable
    );
  }

  return {
    add(finding) {
      // A fault in a helper is found in every file that uses the helper, but is reported only once.
      const { rule_id, position, identity } = finding;
      kept.set([rule_id, position.path, position.line, ...identity].join('\0'), finding);
      if (kept.size >= 2 * maxFindings) drop(); // done rarely, because sorting is slow
    },
    list() {
      drop();
      return [...kept.values()];
    },
    isComplete: () => isComplete && kept.size <= maxFindings,
  };
}

const bySeverity = (a: Finding<unknown>, b: Finding<unknown>): number =>
  severities.indexOf(a.severity) - severities.indexOf(b.severity);
