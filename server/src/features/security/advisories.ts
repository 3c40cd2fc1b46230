// Compares apps' packages with advisories that were published after the scan. Changes only the dependencies
// group.
import type { Job } from '../../kit/background/workers/schedule.ts';
import { transaction } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';
import type { GroupResult } from './finding.ts';
import type { CoverageOfGroups } from './groups.ts';
import { forgetOldNumbers, type RememberedNumber } from './numbers.ts';
import { toStorableJson } from './perform.ts';
import { comparedAt, compareEveryMs, cut, isTruncated, isUnanswered, storeGroup } from './result.ts';
import { scannerVersion } from './scan.ts';
import {
  type DueAdvisories,
  findCompared,
  findPackages,
  listDueAdvisories,
  lockFindings,
  saveAdvisories,
} from './store.ts';

/** Looks up the current advisories for stored packages. */
export type EvaluatePackages = (packages: unknown, signal: AbortSignal) => Promise<GroupResult<object>>;

const appsPerRun = 20;
const maxEvaluationMs = 60_000;

export const advisoryJobs = (evaluate: EvaluatePackages): Job[] => [
  {
    name: 'compare packages with advisories',
    everyMs: 10 * 60_000,
    run: (db, now) => compareAdvisories(db, evaluate, now),
  },
];

/** Returns how many results were compared. Stops if the advisory database does not respond. */
async function compareAdvisories(db: Db, evaluate: EvaluatePackages, now: Date): Promise<number> {
  const due = await listDueAdvisories(db, scannerVersion, new Date(now.getTime() - compareEveryMs), appsPerRun);
  for (const [index, result] of due.entries()) if (!(await compareOne(db, evaluate, result, now))) return index;
  return due.length;
}

async function compareOne(db: Db, evaluate: EvaluatePackages, due: DueAdvisories, now: Date): Promise<boolean> {
  const stored = await findPackages(db, due);
  if (stored === undefined) return true; // rescanned or deleted in the meantime
  await saveAdvisories(db, due, {}, now); // saved first, so a result that crashes the process is not retried right away
  const found = await evaluate(stored.packages, AbortSignal.timeout(maxEvaluationMs));
  if (isUnanswered(found.coverage)) {
    // The earlier findings are more useful than partial ones.
    await saveAdvisories(db, due, {}, comparedAt(found.coverage, now));
    return false;
  }
  await transaction(db, async (db) => {
    await lockFindings(db, due);
    const row = await findCompared(db, due);
    if (row === undefined) return;
    const remembered = row.numbers as unknown as RememberedNumber[]; // the form that perform.ts stores
    const { findings, numbers } = storeGroup('dependencies', found, remembered, now);
    const others = remembered.filter(({ group }) => group !== 'dependencies');
    const coverage = { ...(row.coverage as unknown as CoverageOfGroups), dependencies: found.coverage };
    const truncated = row.truncated_groups.filter((group) => group !== 'dependencies');
    await saveAdvisories(
      db,
      due,
      {
        dependencies: toStorableJson(cut(findings)),
        coverage: JSON.stringify(coverage),
        truncated_groups: isTruncated(findings) ? [...truncated, 'dependencies'] : truncated,
        numbers: toStorableJson(forgetOldNumbers([...others, ...numbers], now)),
      },
      now,
    );
  });
  return true;
}
