// Carries ignores over to a new scan: which findings they now cover, and which ignored findings are absent.
// Contains only pure functions.
import canonicalize from 'canonicalize';
import type { StoredFinding } from './groups.ts';
import { type CoverageOfGroups, type FindingGroup, findingGroups, type StoredGroups, typeOfGroup } from './groups.ts';
import type { IgnoreRow } from './store.ts';

/** An entity, and its rules for the operations that were open. */
export interface CoveredRules {
  readonly entity_name: string;
  readonly rules: Readonly<Record<string, unknown>>;
}

export interface CarriedOver {
  /** Only the statements around the flagged statement have changed, so the ignore is carried over. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** Fewer of the entity's operations are open, under the same rules, so this finding is ignored as well. */
  readonly added: readonly { readonly like: IgnoreRow; readonly fingerprint: string; readonly covered: CoveredRules }[];
  readonly found: readonly string[];
  readonly absent: readonly string[];
}

/** `before` is the previous result. Findings that were not ignored then are not ignored now. */
export function carryOver(
  ignores: readonly IgnoreRow[],
  groups: StoredGroups,
  coverage: CoverageOfGroups,
  before: StoredGroups | undefined,
): CarriedOver {
  const known = new Map(
    before && findingGroups.flatMap((group) => before[group].map((each) => [each.fingerprint, { group, each }])),
  );
  const all = findingGroups.flatMap((group) => groups[group]);
  const present = new Set(all.map(({ fingerprint }) => fingerprint));
  const taken = new Set(ignores.map(({ fingerprint }) => fingerprint));
  const isFree = ({ fingerprint }: StoredFinding) => !taken.has(fingerprint) && !known.has(fingerprint);
  const bySecondary = Map.groupBy(
    all.filter((finding) => finding.secondary !== null && isFree(finding)),
    ({ secondary }) => secondary,
  );
  const gone = ignores.filter(({ fingerprint }) => !present.has(fingerprint));
  const renamed = gone.flatMap(({ fingerprint: from, secondary }) => {
    const last = known.get(from);
    // The previous result must contain the finding in the same file. The group must have run in full, because otherwise
    // the file may simply not have been read.
    if (secondary === null || last === undefined || coverage[last.group].value !== 'ran') return [];
    const candidates = bySecondary.get(secondary) ?? [];
    const at = candidates.findIndex(({ file_path }) => file_path === last.each.file_path);
    const [finding] = at < 0 ? [] : candidates.splice(at, 1);
    return finding === undefined ? [] : [{ from, to: finding.fingerprint }];
  });
  const moved = new Set(renamed.map(({ from }) => from));
  const added = gone.flatMap((like) => {
    const narrower = groups.rls.find((finding) => !taken.has(finding.fingerprint) && covers(like, finding));
    if (narrower === undefined) return [];
    taken.add(narrower.fingerprint);
    return [{ like, fingerprint: narrower.fingerprint, covered: toCoveredRules(narrower) }];
  });
  return {
    renamed,
    added,
    found: [
      ...ignores.map(({ fingerprint }) => fingerprint).filter((one) => present.has(one)),
      ...renamed.map(({ to }) => to),
    ],
    absent: gone
      .filter((ignore) => !moved.has(ignore.fingerprint) && wasLookedFor(ignore, coverage))
      .map(({ fingerprint }) => fingerprint),
  };
}

/** A finding counts as absent only if its group was fully scanned. */
const wasLookedFor = ({ finding_type }: IgnoreRow, coverage: CoverageOfGroups): boolean =>
  findingGroups.every(
    (group) => (finding_type !== null && typeOfGroup[group] !== finding_type) || coverage[group].value === 'ran',
  );

function covers({ covered_rules }: IgnoreRow, finding: StoredFinding): boolean {
  if (covered_rules === null) return false;
  const before = covered_rules as unknown as CoveredRules; // only `toCoveredRules` creates these values
  const now = toCoveredRules(finding);
  return (
    before.entity_name === now.entity_name &&
    Object.entries(now.rules).every(
      ([operation, rule]) =>
        Object.hasOwn(before.rules, operation) && canonicalize(before.rules[operation]) === canonicalize(rule),
    )
  );
}

/** `finding` must be about row rules. */
export function toCoveredRules({ entity_name, open_operations, current_rules }: StoredFinding): CoveredRules {
  const rules = current_rules as Readonly<Record<string, unknown>>;
  const operations = open_operations as readonly string[];
  return {
    entity_name: String(entity_name),
    rules: Object.fromEntries(operations.map((operation) => [operation, rules[operation] ?? null])),
  };
}

export const findInGroups = (
  groups: StoredGroups,
  fingerprint: string,
): { group: FindingGroup; finding: StoredFinding } | undefined => {
  for (const group of findingGroups) {
    const finding = groups[group].find((each) => each.fingerprint === fingerprint);
    if (finding !== undefined) return { group, finding };
  }
  return undefined;
};
