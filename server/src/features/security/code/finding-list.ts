// Owns how many findings of a group are kept while an app is read: of more, the most severe.
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
      [...kept].toSorted(([, a], [, b]) => bySeverity(a, b)).slice(0, maxFindings), // sorting keeps the order of equals
    );
  }

  return {
    add(finding) {
      // A helper's fault is found from every file that uses it, and is reported once.
      const { rule_id, position, identity } = finding;
      kept.set([rule_id, position.path, position.line, ...identity].join('\0'), finding);
      if (kept.size >= 2 * maxFindings) drop(); // seldom, because it sorts
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
