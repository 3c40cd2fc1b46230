// Owns the header that says how much of an app a scan has looked at: an empty group proves something only where it says `ran`.
import type { Coverage } from './finding.ts';
import { type CoverageOfGroups, groups } from './groups.ts';

/** Example: `rls=ran, dependencies=skipped;reason=offline, static=off`. */
export const renderCoverage = (coverage: CoverageOfGroups): string =>
  groups.map((group) => `${group}=${renderOne(coverage[group])}`).join(', ');

const renderOne = (coverage: Coverage): string =>
  'reason' in coverage ? `${coverage.value};reason=${coverage.reason}` : coverage.value;

/** What is shown depends on the settings of now, whatever they were when the app was scanned. */
export const limitCoverage = (
  coverage: CoverageOfGroups,
  { isStaticOn, hasDependencies }: { isStaticOn: boolean; hasDependencies: boolean },
): CoverageOfGroups => ({
  ...coverage,
  ...(!isStaticOn && { static: { value: 'off' } }),
  ...(!hasDependencies && { dependencies: { value: 'skipped', reason: 'rollout' } }),
});
