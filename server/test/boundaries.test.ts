// Owns the proof that .dependency-cruiser.cjs holds: every rule catches a planted violation,
// and the product breaks none.
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Files in server/src and what they hold. A file they import that is not named here is there, and empty.
type Tree = Record<string, string>;

const refused: [rule: string, tree: Tree][] = [
  ['kit-alone', { 'kit/ids.ts': `import '../core/auth/roles.ts'` }],
  ['kit-alone', { 'kit/ids.ts': `import type { Tables } from '../tables.ts'` }],
  ['core-uses-kit', { 'core/auth/guard.ts': `import '../../features/apps/index.ts'` }],
  ['core-uses-kit', { 'core/audit/audit.ts': `import '../../gateways/mail.ts'` }],
  ['core-uses-kit', { 'core/identity/users.ts': `import type { Config } from '../../config.ts'` }],
  ['core-uses-kit', { 'core/credits/pool.ts': `import type { App } from '../../app.ts'` }],
  ['auth-below-core', { 'core/auth/guard.ts': `import '../identity/users.ts'` }],
  ['auth-below-core', { 'core/auth/guard.ts': `import type { User } from '../identity/shapes.ts'` }],
  ['proofs-issued-by-auth', { 'features/apps/app.ts': `import '../../core/auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'features/apps/store.ts': `import '../../core/auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'core/audit/audit.ts': `import '../auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'app.ts': `import './core/auth/issue-proof.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import '../features/apps/index.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import '../core/auth/roles.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import type { Tables } from '../tables.ts'` }],
  ['gateways-without-database', { 'gateways/mail.ts': `import '../kit/db/database.ts'` }],
  ['gateways-without-database', { 'gateways/mail.ts': `import type { Kysely } from 'kysely'` }],
  ['features-use-core', { 'features/apps/app.ts': `import type { Config } from '../../config.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import '../folders/index.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import type { Folder } from '../folders/contract.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import '../apps-extra/index.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import '../../gateways/mail.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `await import('../../gateways/mail.ts')` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import { type M } from '../../gateways/mail.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import S, { type M } from '../../gateways/mail.ts'` }],
  ['features-wired-in-app', { 'commands/api.ts': `import '../features/apps/index.ts'` }],
  ['features-wired-in-app', { 'events.ts': `import type { App } from './features/apps/index.ts'` }],
  ['features-by-index', { 'app.ts': `import './features/apps/routes.ts'` }],
  ['features-by-index', { 'commands/demo/demo.ts': `import '../../features/apps/routes.ts'` }],
  ['queries-in-stores', { 'features/apps/app.ts': `import { sql } from 'kysely'` }],
  ['queries-in-stores', { 'features/apps/app.ts': `import type { Kysely } from 'kysely'; import 'kysely'` }],
  ['pure-rules', { 'core/auth/roles.ts': `import { sql } from 'kysely'` }],
  ['pure-rules', { 'core/auth/plans.ts': `import '../../kit/http/answer.ts'` }],
  ['pure-rules', { 'core/auth/limits.ts': `import 'fastify'` }],
  ['pure-rules', { 'features/apps/rules/name.ts': `import '../../../kit/db/database.ts'` }],
  ['pure-rules', { 'features/apps/rules/name.ts': `import '../store.ts'` }],
  ['pure-rules', { 'features/apps/rules/name.ts': `import 'pg'` }],
  ['pure-rules', { 'features/apps/rules/name.ts': `import type { Mail } from '../../../gateways/mail.ts'` }],
  ['pure-rules-without-node', { 'features/apps/rules/name.ts': `import { randomInt } from 'node:crypto'` }],
  ['pure-rules-without-node', { 'core/auth/limits.ts': `import { readFileSync } from 'fs'` }],
  ['no-cycles', { 'kit/log.ts': `import './ids.ts'`, 'kit/ids.ts': `import './log.ts'` }],
  ['no-cycles', { 'kit/log.ts': `import './ids.ts'`, 'kit/ids.ts': `import type { Log } from './log.ts'` }],
  ['no-orphans', { 'kit/left-over.ts': `export const used = false` }],
  ['no-dev-dependencies', { 'kit/log.ts': `import 'vitest'` }],
  ['no-dev-dependencies', { 'kit/log.ts': `import 'unlisted'` }],
  ['nothing-outside-src', { 'kit/log.ts': `import '../../test/support/world.ts'` }],
  ['nothing-outside-src', { 'kit/log.ts': `import './ids.test.ts'` }],
  ['no-unresolved', { 'kit/log.ts': `import 'not-installed'` }],
];

// What a rule written a little too wide would refuse.
const allowed: Tree[] = [
  { 'main.ts': `` },
  { 'app.ts': `import './features/apps/index.ts'; import './gateways/mail.ts'; import './config.ts'` },
  { 'core/auth/guard.ts': `import 'kysely'; import type { Tables } from '../../tables.ts'; import '../../kit/log.ts'` },
  { 'features/apps/app.ts': `import type { Mail } from '../../gateways/mail.ts'` },
  {
    'features/apps/app.ts': `import type { Kysely } from 'kysely'; import '../../events.ts'; import '../../tables.ts'`,
  },
  { 'core/identity/users.ts': `import '../auth/roles.ts'; import type { SelfAccess } from '../auth/proofs.ts'` },
  { 'core/auth/guard.ts': `import './issue-proof.ts'` },
  { 'features/apps/store/shares.ts': `import { sql } from 'kysely'` },
  { 'features/apps/store.ts': `import { sql } from 'kysely'; import 'node:crypto'` },
  { 'features/apps/rules/name.ts': `import '../contract.ts'; import '../../../core/auth/roles.ts'` },
  {
    'features/apps/app.test.ts': `import 'vitest'; import '../../../test/support/world.ts'; import { sql } from 'kysely'`,
  },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const options = await extractDepcruiseOptions(join(root, '.dependency-cruiser.cjs'));
const tsConfig = extractTSConfig(join(root, 'tsconfig.json'));
let temporary: string;

beforeAll(async () => {
  temporary = await mkdtemp(join(await realpath(tmpdir()), 'boundaries-'));
});
afterAll(() => rm(temporary, { recursive: true }));

describe('each rule', () => {
  it('has a planted violation', () => {
    const named = options.ruleSet?.forbidden?.map((rule) => rule.name);
    expect(new Set(refused.map(([rule]) => rule))).toEqual(new Set(named));
  });

  it.each(refused)('%s refuses %j', async (rule, tree) => {
    expect(rulesBroken(await cruised(await plant(tree)))).toEqual([rule]);
  });

  it.each(allowed)('leaves %j alone', async (tree) => {
    expect(rulesBroken(await cruised(await plant(tree)))).toEqual([]);
  });
});

describe('the product', () => {
  it('is seen whole and breaks no rule', { timeout: 120_000 }, async () => {
    const { modules, summary } = await cruised(root);
    // Without a TypeScript it knows, dependency-cruiser sees no .ts file, finds no fault and says all is well.
    const seen = modules.map((module) => module.source).filter((path) => path.startsWith('server/src/'));
    expect(seen.sort()).toEqual((await sourceFiles()).sort());
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });
});

async function cruised(baseDir: string) {
  const { output } = await cruise(['server/src'], { ...options, baseDir }, undefined, { tsConfig });
  if (typeof output === 'string') throw new Error(output);
  return output;
}

type Cruised = Awaited<ReturnType<typeof cruised>>;

const rulesBroken = ({ summary }: Cruised) => [...new Set(summary.violations.map(({ rule }) => rule.name))];

async function sourceFiles(): Promise<string[]> {
  const paths = await readdir(join(root, 'server/src'), { recursive: true });
  return paths.filter((path) => path.endsWith('.ts')).map((path) => join('server/src', path));
}

async function plant(tree: Tree): Promise<string> {
  const folder = await mkdtemp(join(temporary, 'planted-'));
  for (const name of ['kysely', 'pg', 'fastify', 'vitest', 'unlisted']) {
    await write(join(folder, 'node_modules', name, 'index.js'), '');
  }
  const manifest = { dependencies: { kysely: '*', pg: '*', fastify: '*' }, devDependencies: { vitest: '*' } };
  await write(join(folder, 'server/package.json'), JSON.stringify(manifest));
  const files = Object.entries(tree).map(([file, text]) => ({ path: join(folder, 'server/src', file), text }));
  for (const { path, text } of files) {
    for (const imported of text.matchAll(/'(\.[^']+)'/g)) await write(join(dirname(path), imported[1] ?? ''), '');
  }
  for (const { path, text } of files) await write(path, text);
  return folder;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
