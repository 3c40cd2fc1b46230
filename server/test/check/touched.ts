// Determines which suites a change touches. A suite is touched if a folder that it covers has changed, or a file that
// its tests depend on. On a branch, everything since it diverged from main counts as changed. On main, the last 60
// commits count.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './root.ts';
import type { Suite } from './suites.ts';

const commitsOnMain = 60;

/** Files and folders that every suite depends on. */
const sharedByAll = [
  '.ci/',
  'package.json',
  'package-lock.json',
  'server/migrations/',
  'server/package.json',
  // These files assemble the product.
  'server/src/app.ts',
  'server/src/app/',
  'server/src/config.ts',
  'server/src/config/',
  'server/src/events.ts',
  'server/test/check/',
  'vitest.config.ts',
];

export function findTouched(suites: readonly Suite[]): Suite[] {
  const base = findBase();
  if (base === undefined) {
    console.log(`The history is too short to tell what has changed: all ${suites.length} suites run.`);
    return [...suites];
  }
  const changed = listChanged(base);
  const reasons = suites.map((suite) => findTouching(suite, changed));
  console.log(`${changed.length} files changed since ${base.slice(0, 8)}:`);
  for (const [index, { name }] of suites.entries()) console.log(`  ${name}: ${reasons[index] ?? 'not touched'}`);
  return suites.filter((_, index) => reasons[index] !== undefined);
}

/** Returns the first changed file that touches the suite. */
export function findTouching(suite: Suite, changed: readonly string[]): string | undefined {
  const places = [...sharedByAll, ...suite.judges, ...listTests(suite), ...listModules(suite)];
  return changed.find((path) => places.some((place) => isInside(path, place)));
}

const isInside = (path: string, place: string): boolean =>
  path === place || path.startsWith(place.endsWith('/') ? place : `${place}/`);

export const listTests = ({ tests }: Pick<Suite, 'tests'>): string[] => globSync(tests, { cwd: root });

/**
 * Returns the modules that a suite's folders and tests import. Product modules in kit, core and gateways are included
 * only if they are imported directly. The tests' own modules are followed through their imports.
 */
function listModules(suite: Suite): string[] {
  const folders = suite.judges.filter((place) => !/\.(md|json)$/.test(place));
  const judged = globSync(
    folders.map((place) => (place.endsWith('.ts') ? place : `${place}/**/*.ts`)),
    { cwd: root },
  );
  const tests = listTests(suite);
  const madeWith = new Set<string>();
  for (const file of tests) addMadeWith(file, madeWith);
  const shared = [...judged, ...tests].flatMap(listImports).map(toModule);
  return [...new Set(shared.filter((module) => module !== undefined)), ...madeWith];
}

/** Adds the test modules that a file imports, directly or indirectly. */
function addMadeWith(file: string, madeWith: Set<string>): void {
  for (const path of listImports(file)) {
    if (!/^(?:server\/test|drills|harness|sandbox)\//.test(path) || madeWith.has(path) || !existsSync(join(root, path)))
      continue;
    madeWith.add(path);
    addMadeWith(path, madeWith);
  }
}

/** Returns the paths of a file's relative imports, such as `server/src/kit/http/answer.ts`. */
function listImports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
}

/** For example, `server/src/kit/http/answer.ts` belongs to `server/src/kit/http`. */
const toModule = (path: string): string | undefined => /^server\/src\/(?:kit|core|gateways)\/[^/]+/.exec(path)?.[0];

/** Returns the commit that changes are compared with. Undefined if the history is too short. */
function findBase(): string | undefined {
  const head = tryGit('rev-parse', 'HEAD');
  const fork = tryGit('merge-base', 'origin/main', 'HEAD') ?? tryGit('merge-base', 'main', 'HEAD');
  if (fork === undefined || fork !== head) return fork;
  return tryGit('rev-parse', '--verify', '--quiet', `HEAD~${commitsOnMain}`);
}

/** Returns the files changed since `base`, including uncommitted files. */
function listChanged(base: string): string[] {
  const list = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const paths = [
    ...list('diff', '--name-only', '--no-renames', base),
    ...list('ls-files', '--others', '--exclude-standard'),
  ];
  return paths.filter((path) => path !== '');
}

function tryGit(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
