// Checks that .dependency-cruiser.cjs works: every rule detects a planted violation, and neither the product nor the
// programs around it break a rule.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Maps each file's path, relative to server/src, to its content. Imported files that are not listed exist and are
// empty.
type Tree = Record<string, string>;

const cycleIn = (folder: string): Tree => ({
  [`${folder}/log.ts`]: `import './ids.ts'`,
  [`${folder}/ids.ts`]: `import type { Log } from './log.ts'`,
});

const refused: [rule: string, tree: Tree][] = [
  ['kit-alone', { 'kit/ids.ts': `import '../core/auth/roles.ts'` }],
  ['kit-alone', { 'kit/ids.ts': `import type { Tables } from '../tables.ts'` }],
  ['queues-apart', { 'kit/background/queues/run.ts': `import '../../http/answer.ts'` }],
  ['queues-apart', { 'kit/background/queues/run.ts': `import type { Metrics } from '../metrics.ts'` }],
  ['core-uses-kit', { 'core/auth/guard.ts': `import '../../features/apps/index.ts'` }],
  ['core-uses-kit', { 'core/audit/audit.ts': `import '../../gateways/mail.ts'` }],
  ['core-uses-kit', { 'core/identity/users.ts': `import type { Config } from '../../config.ts'` }],
  ['core-uses-kit', { 'core/identity/users.ts': `import '../../config/keys.ts'` }],
  ['core-uses-kit', { 'core/credits/pool.ts': `import type { App } from '../../app.ts'` }],
  ['auth-below-core', { 'core/auth/guard.ts': `import '../identity/users.ts'` }],
  ['auth-below-core', { 'core/auth/guard.ts': `import type { User } from '../identity/shapes.ts'` }],
  ['proofs-issued-by-auth', { 'features/apps/app.ts': `import '../../core/auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'features/apps/store.ts': `import '../../core/auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'core/audit/audit.ts': `import '../auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'app.ts': `import './core/auth/issue-proof.ts'` }],
  ['proofs-issued-by-auth', { 'app/server.ts': `import '../core/auth/issue-proof.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import '../features/apps/index.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import '../core/auth/roles.ts'` }],
  ['gateways-use-kit', { 'gateways/mail.ts': `import type { Tables } from '../tables.ts'` }],
  ['gateways-without-database', { 'gateways/mail.ts': `import '../kit/db/database.ts'` }],
  ['gateways-without-database', { 'gateways/mail.ts': `import type { Kysely } from 'kysely'` }],
  ['features-use-core', { 'features/apps/app.ts': `import type { Config } from '../../config.ts'` }],
  ['features-use-core', { 'features/apps/app.ts': `import '../../config/keys.ts'` }],
  ['features-use-core', { 'features/apps/app.ts': `import type { Shared } from '../../app/features.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import '../folders/index.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import type { Folder } from '../folders/contract.ts'` }],
  ['features-apart', { 'features/apps/app.ts': `import '../apps-extra/index.ts'` }],
  ['folders-in-levels', { 'features/ads/store/launches.ts': `import '../launch/launch.ts'` }],
  ['folders-in-levels', { 'features/ads/store/launches.ts': `import type { Launch } from '../launch/contract.ts'` }],
  ['folders-in-levels', { 'features/ads/launch/launch.ts': `import '../no-level/anything.ts'` }],
  ['folders-in-levels', { 'features/ads/no-level/anything.ts': `import '../store/launches.ts'` }],
  ['folders-in-levels', { 'features/apps/one/anything.ts': `import '../other/anything.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import '../../gateways/mail.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `await import('../../gateways/mail.ts')` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import { type M } from '../../gateways/mail.ts'` }],
  ['gateways-by-type', { 'features/apps/app.ts': `import S, { type M } from '../../gateways/mail.ts'` }],
  ['features-wired-in-app', { 'commands/api.ts': `import '../features/apps/index.ts'` }],
  ['features-wired-in-app', { 'config/connectors.ts': `import '../features/connectors/index.ts'` }],
  ['features-wired-in-app', { 'events.ts': `import type { App } from './features/apps/index.ts'` }],
  ['features-by-index', { 'app.ts': `import './features/apps/routes.ts'` }],
  ['features-by-index', { 'app/features.ts': `import '../features/apps/routes.ts'` }],
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
  ['no-unresolved', { '../../drills/slots.ts': `import 'not-installed'` }],
  ['no-cycles', cycleIn('../../sandbox/src')],
  ['no-cycles', cycleIn('../../harness')],
  ['no-cycles', cycleIn('../../bench')],
  ['no-cycles', cycleIn('../../drills')],
  ['no-cycles', cycleIn('../../tools')],
  ['sandbox-alone', { '../../sandbox/src/model.ts': `import '../../server/src/kit/ids.ts'` }],
  [
    'sandbox-alone',
    { '../../sandbox/src/model.ts': `import type { Call } from '../../server/test/support/client.ts'` },
  ],
  ['sandbox-alone', { '../../sandbox/src/model.ts': `import '../../harness/ports.ts'` }],
  ['client-alone', { '../../client/sdk/src/send.ts': `import '../../../server/src/kit/ids.ts'` }],
  [
    'client-alone',
    { '../../client/sdk/src/send.ts': `import type { Route } from '../../../server/src/core/auth/route.ts'` },
  ],
  ['client-alone', { '../../client/sdk/src/send.ts': `import 'node:crypto'` }],
  ['client-alone', { '../../client/sdk/src/send.ts': `import 'unlisted'` }],
  ['command-line-on-client', { '../../client/cli/src/run.ts': `import '../../../server/src/kit/ids.ts'` }],
  ['command-line-on-client', { '../../client/cli/src/run.ts': `import '../../sdk/src/send.ts'` }],
  ['no-cycles', cycleIn('../../console/src/ui')],
  ['console-uses-client', { '../../console/src/data/client.ts': `import '../../../server/src/kit/ids.ts'` }],
  ['console-uses-client', { '../../console/src/data/client.ts': `import '../../../client/sdk/src/send.ts'` }],
  ['console-client-once', { '../../console/src/ui/age.tsx': `import '../../../client/sdk/src/index.ts'` }],
  ['console-parts-in-ui', { '../../console/src/shell/frame.tsx': `import '@base-ui/react'` }],
  ['console-parts-in-ui', { '../../console/src/features/apps/home.tsx': `import 'marked'` }],
  ['console-layers', { '../../console/src/ui/age.tsx': `import '../shell/frame.tsx'` }],
  ['console-layers', { '../../console/src/features/apps/home.tsx': `import '../../routes.tsx'` }],
  ['console-features-below', { '../../console/src/ui/age.tsx': `import '../features/apps/home.tsx'` }],
  ['console-features-apart', { '../../console/src/features/apps/home.tsx': `import '../builder/chat.tsx'` }],
  ['harness-below', { '../../harness/ports.ts': `import '../bench/lib/load.ts'` }],
  ['harness-below', { '../../harness/ports.ts': `import type { Random } from '../drills/lib/random.ts'` }],
  ['bench-and-drills-apart', { '../../bench/queues/worker.ts': `import '../../drills/lib/random.ts'` }],
  ['bench-and-drills-apart', { '../../bench/queues.ts': `import '../tools/run.ts'` }],
  ['bench-and-drills-apart', { '../../drills/slots.ts': `import type { Load } from '../bench/lib/load.ts'` }],
];

// Imports that a slightly too broad rule would forbid.
const allowed: Tree[] = [
  {
    'kit/background/queues/run.ts': `import 'kysely'; import '../../clock.ts'; import '../../db/database.ts'; import '../workers/loop.ts'`,
  },
  {
    '../../client/cli/src/run.ts': `import 'node:fs'; import '../../sdk/src/index.ts'`,
    '../../client/sdk/src/index.ts': '',
  },
  { 'main.ts': `` },
  { 'app.ts': `import './features/apps/index.ts'; import './gateways/mail.ts'; import './config.ts'` },
  { 'app/features.ts': `import '../features/apps/index.ts'; import '../gateways/mail.ts'; import '../config.ts'` },
  { 'core/auth/guard.ts': `import 'kysely'; import type { Tables } from '../../tables.ts'; import '../../kit/log.ts'` },
  { 'features/apps/app.ts': `import type { Mail } from '../../gateways/mail.ts'` },
  {
    'features/apps/app.ts': `import type { Kysely } from 'kysely'; import '../../events.ts'; import '../../tables.ts'`,
  },
  { 'core/identity/users.ts': `import '../auth/roles.ts'; import type { SelfAccess } from '../auth/proofs.ts'` },
  { 'core/auth/guard.ts': `import './issue-proof.ts'` },
  { 'features/ads/launch/launch.ts': `import '../store/launches.ts'; import './saga.ts'; import '../times.ts'` },
  { 'features/ads/store/launches.test.ts': `import '../launch/launch.ts'` },
  { 'features/apps/one/anything.ts': `import './inner/anything.ts'; import '../contract.ts'` },
  { 'features/apps/store/shares.ts': `import { sql } from 'kysely'` },
  { 'features/apps/store.ts': `import { sql } from 'kysely'; import 'node:crypto'` },
  { 'features/apps/rules/name.ts': `import '../contract.ts'; import '../../../core/auth/roles.ts'` },
  {
    'features/apps/app.test.ts': `import 'vitest'; import '../../../test/support/world.ts'; import { sql } from 'kysely'`,
  },
  { '../../sandbox/src/model.test.ts': `import 'vitest'; import '../../server/src/kit/ids.ts'` },
  {
    '../../harness/ports.ts': `import '../sandbox/src/model.ts'; import '../server/src/kit/ids.ts'; import 'unlisted'`,
  },
  {
    '../../console/src/shell/editor.tsx': `import '../features/builder/chat.tsx'; import '../ui/age.tsx'; import '../data/client.ts'`,
  },
  { '../../console/src/data/client.ts': `import '../../../client/sdk/src/index.ts'` },
  { '../../bench/queues/worker.ts': `import '../lib/load.ts'; import '../../harness/ports.ts'` },
  { '../../tools/run.ts': `import '../bench/queues.ts'; import '../drills/slots.ts'` },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const options = await extractDepcruiseOptions(join(root, '.dependency-cruiser.cjs'));
// The folders that `npm run boundaries` checks.
const folders = readScript('boundaries').split(' ').slice(3);
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

describe('the repository', () => {
  it('is seen whole and breaks no rule', async () => {
    const { modules, summary } = await cruised(root);
    // Without a supported TypeScript version, dependency-cruiser sees no .ts files and reports no violations.
    const seen = modules.map((module) => module.source).filter((path) => isSource(path));
    expect(seen.sort()).toEqual((await Promise.all(folders.map(listSources))).flat().sort());
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });
});

async function cruised(baseDir: string) {
  const { output } = await cruise(
    folders.filter((folder) => existsSync(join(baseDir, folder))),
    { ...options, baseDir },
    undefined,
    { tsConfig },
  );
  if (typeof output === 'string') throw new Error(output);
  return output;
}

type Cruised = Awaited<ReturnType<typeof cruised>>;

const rulesBroken = ({ summary }: Cruised) => [...new Set(summary.violations.map(({ rule }) => rule.name))];

const isSource = (path: string): boolean =>
  /\.tsx?$/.test(path) && folders.some((folder) => path.startsWith(`${folder}/`));

async function listSources(folder: string): Promise<string[]> {
  const paths = await readdir(join(root, folder), { recursive: true });
  return paths.map((path) => join(folder, path)).filter(isSource);
}

function readScript(name: string): string {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts[name];
}

async function plant(tree: Tree): Promise<string> {
  const folder = await mkdtemp(join(temporary, 'planted-'));
  for (const name of ['kysely', 'pg', 'fastify', 'vitest', 'unlisted', '@base-ui/react', 'marked']) {
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
