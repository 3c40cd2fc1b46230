// Owns which suites a change touches: those that judge a folder in which something has changed, or that test with something that
// has changed. On a branch, everything since it left main counts as changed; on main, the last 60 commits.
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './root.ts';
import type { Suite } from './suites.ts';

const commitsOnMain = 60;

/** What every suite depends on. */
const sharedByAll = [
  '.ci/',
  'package.json',
  'package-lock.json',
  'server/migrations/',
  'server/package.json',
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

/** The first of the changed files that concerns the suite. */
export function findTouching(suite: Suite, changed: readonly string[]): string | undefined {
  const places = [...sharedByAll, ...suite.judges, ...listTests(suite), ...listModules(suite)];
  return changed.find((path) => places.some((place) => isInside(path, place)));
}

const isInside = (path: string, place: string): boolean =>
  path === place || path.startsWith(place.endsWith('/') ? place : `${place}/`);

export const listTests = ({ tests }: Pick<Suite, 'tests'>): string[] => globSync(tests, { cwd: root });

/**
 * The modules that a suite's folders and tests import directly: of the product those that features share, and what tests are
 * made with.
 */
function listModules(suite: Suite): string[] {
  const folders = suite.judges.map((place) => (place.endsWith('.ts') ? place : `${place}/**/*.ts`));
  const sources = [...globSync(folders, { cwd: root }), ...listTests(suite)];
  return [...new Set(sources.flatMap(listImports).map(toModule))].filter((module) => module !== undefined);
}

/** Paths of the relative imports of a file, such as `server/src/kit/http/answer.ts`. */
function listImports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
}

/** `server/src/kit/http/answer.ts` belongs to `server/src/kit/http`; what tests are made with is a module file by file. */
function toModule(path: string): string | undefined {
  const [module] = /^server\/src\/(?:kit|core|gateways)\/[^/]+/.exec(path) ?? [];
  return module ?? (/^(?:server\/test|sandbox)\//.test(path) ? path : undefined);
}

/** The commit since which everything counts as changed. Undefined if the history does not reach so far. */
function findBase(): string | undefined {
  const head = tryGit('rev-parse', 'HEAD');
  const fork = tryGit('merge-base', 'origin/main', 'HEAD') ?? tryGit('merge-base', 'main', 'HEAD');
  if (fork === undefined || fork !== head) return fork;
  return tryGit('rev-parse', '--verify', '--quiet', `HEAD~${commitsOnMain}`);
}

/** With what is not committed yet. */
function listChanged(base: string): string[] {
  const list = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const paths = [...list('diff', '--name-only', base), ...list('ls-files', '--others', '--exclude-standard')];
  return paths.filter((path) => path !== '');
}

function tryGit(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
