// Owns `npm run test:changed`: it runs the tests that stand beside what has changed since the branch left main. Every
// test file imports the whole product, so Vitest's own `--changed` would run nearly everything.
//
// | Changed | Runs |
// |---|---|
// | server/src/features/apps/store.ts | server/src/features/apps/ |
// | server/src/kit/http/answer.ts | server/src/kit/http/ |
// | server/src/features/apps/routes.ts, docs/api/operations.yaml | also the register and audit tests |
// | server/test/e2e/agents.test.ts | server/test/e2e/agents.test.ts |
// | anything | the rules of the code base, the vocabulary and the links |
//
// It says little about a change of kit, core or the database that many features feel: `npm run check` decides.
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const alwaysTests = ['code-rules', 'vocabulary', 'links'].map((name) => `server/test/${name}.test.ts`);
const registerTests = ['server/test/derived/register.test.ts', 'server/test/derived/audits.test.ts'];

const base = mergeBase();
const changed = [
  ...git('diff', '--name-only', '--diff-filter=ACMR', base),
  ...git('ls-files', '--others', '--exclude-standard'),
];
const tests = [...new Set([...alwaysTests, ...changed.flatMap(testsBeside)])];
console.log(`${changed.length} files changed since ${base.slice(0, 8)}; running the tests in ${tests.join(', ')}`);
const { status } = spawnSync('vitest', ['run', ...tests], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;

/** The test file itself, or the nearest folder above a file that has tests. */
function testsBeside(path: string): string[] {
  const module = /^(server\/src\/(?:features|core|gateways|kit)\/[^/]+)\//.exec(path)?.[1];
  if (path.endsWith('.test.ts')) return [path];
  const beside = module !== undefined && hasTests(module) ? [`${module}/`] : [];
  const isContract = ['routes.ts', 'contract.ts', 'operations.yaml', 'errors.yaml'].includes(basename(path));
  if (isContract) return [...beside, ...registerTests];
  const sandbox = path.startsWith('sandbox/') && hasTests('sandbox') ? ['sandbox/'] : [];
  const command = path.startsWith('server/src/commands/') && hasTests(dirname(path)) ? [`${dirname(path)}/`] : [];
  return [...beside, ...sandbox, ...command];
}

function hasTests(folder: string): boolean {
  return globSync(`${folder}/**/*.test.ts`, { cwd: root, exclude: ['**/node_modules'] }).length > 0;
}

/** Where this branch left main; on main itself, the last commit. */
function mergeBase(): string {
  for (const main of ['origin/main', 'main']) {
    const { status: isKnown } = spawnSync('git', ['rev-parse', '--verify', '--quiet', main], { cwd: root });
    if (isKnown === 0) return git('merge-base', main, 'HEAD')[0] ?? 'HEAD';
  }
  return 'HEAD';
}

function git(...args: string[]): string[] {
  const lines = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line !== '');
}
