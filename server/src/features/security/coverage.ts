// The header that reports how much of an app was scanned. A group without findings is meaningful only if it `ran`.
import type { Coverage } from './finding.ts';
import { type CoverageOfGroups, groups } from './groups.ts';

/** Example: `rls=ran, dependencies=skipped;reason=offline, static=off`. */
export const renderCoverage = (coverage: CoverageOfGroups): string =>
  groups.map((group) => `${group}=${renderOne(coverage[group])}`).join(', ');

const renderOne = (coverage: Coverage): string =>
  'reason' in coverage ? `${coverage.value};reason=${coverage.reason}` : coverage.value;

/** Applies the current settings, regardless of the settings during the scan. */
export const limitCoverage = (
  coverage: CoverageOfGroups,
  { isStaticOn, hasDependencies }: { isStaticOn: boolean; hasDependencies: boolean },
): CoverageOfGroups => ({
  ...coverage,
  ...(!isStaticOn && { static: { value: 'off' } }),
  ...(!hasDependencies && { dependencies: { value: 'skipped', reason: 'rollout' } }),
});
