// The tiers of checks and their steps. The last line printed is "N passed, N failed".
//
// | Command | Runs |
// |---|---|
// | npm run check | the checks that every change must pass |
// | npm run check:touched | the suites (suites.ts) that the change touches |
// | npm run check -- touched | both, as CI does |
// | npm run check:all | every suite, with all random cases |
import { join } from 'node:path';
import { prepareDatabase } from './database.ts';
import { listRepeatable } from './repeat.ts';
import { clearResults, countAsPassed, readResults } from './results.ts';
import { root } from './root.ts';
import { runAlone, runTogether } from './steps.ts';
import { everyChange, suites } from './suites.ts';
import { findTouched } from './touched.ts';

process.env.NODE_COMPILE_CACHE ??= join(root, '.cache/compiled'); // shared, because every step loads the same modules

const tiers = process.argv.slice(2);
const isAll = tiers.includes('all');
const isEveryChange = isAll || tiers.includes('change');
const touched = isAll ? suites : tiers.includes('touched') ? findTouched(suites) : [];
const selected = [...(isEveryChange ? [everyChange] : []), ...touched.map(({ name }) => name)];
const isWhole = isEveryChange && touched.length === suites.length;

clearResults();
await prepareDatabase();
const isGood = (!isEveryChange || (await checkCode())) && (selected.length === 0 || (await checkBehaviour()));
const { passed, failed } = readResults();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = isGood ? 0 : 1;

function checkCode(): Promise<boolean> {
  return runTogether([
    { name: 'lint', command: ['npm', 'run', '--silent', 'lint'] },
    { name: 'types', command: ['npm', 'run', '--silent', 'types'] },
    { name: 'dead code', command: ['npm', 'run', '--silent', 'dead'] },
    { name: 'generated files', command: ['npm', 'run', '--silent', 'describe', '--', '--check'] },
  ]);
}

async function checkBehaviour(): Promise<boolean> {
  const environment = { TEST_SUITES: selected.join(), ...(isAll && { ALL_CASES: '1' }) };
  const isPassed = await runAlone({ name: 'tests', command: ['vitest', 'run'], environment });
  if (!isPassed && !(await repeatFailed())) return false;
  // Only the full test suite produces every declared response.
  const whole = isWhole ? ['--whole'] : [];
  return runAlone({ name: 'answers', command: ['node', 'server/test/support/observed.ts', ...whole] });
}

/** Reruns the files whose tests failed, if a rerun is allowed. The first failure has already been printed. */
async function repeatFailed(): Promise<boolean> {
  const files = listRepeatable(readResults());
  const command = ['vitest', 'run', ...files];
  const environment = { TEST_RUN: 'repeated' };
  if (files.length === 0 || !(await runAlone({ name: 'failed tests, once more', command, environment }))) return false;
  console.log(`Passed only at the second attempt: ${files.join(', ')}`);
  countAsPassed();
  return true;
}
