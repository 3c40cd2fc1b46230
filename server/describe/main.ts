// `npm run describe`, which writes the files that are generated from the code and a migrated database. With
// --check it writes nothing, and fails if a file is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { listSettings } from '../src/config.ts';
import { migrate, readMigrations } from '../src/kit/db/migrate.ts';
import { buildOpenApi } from '../src/openapi/document.ts';
import { migrationsFolder } from '../src/release.ts';
import { describeCatalogue } from './catalogue.ts';
import { describeClient } from './client.ts';
import { describeConfiguration, describeEnvironmentExample } from './configuration.ts';
import { describeErrors, errorCodes } from './errors.ts';
import { collectMessages, describeMessages } from './messages.ts';
import { listRoutes } from './routes.ts';
import { describeSessionStates } from './session-states.ts';
import { describeTables } from './tables.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432';

const routes = await listRoutes();
const openapi = JSON.stringify(buildOpenApi(routes, '{base_url}'), null, 2);
const files: Record<string, string> = {
  'server/src/tables.ts': await describeMigratedTables(),
  'docs/generated/openapi.json': `${openapi}\n`,
  'docs/generated/catalogue.md': describeCatalogue(routes),
  'docs/generated/errors.md': describeErrors(routes),
  'docs/generated/messages.md': describeMessages(collectMessages(routes)),
  'docs/generated/coding-session-states.md': describeSessionStates(),
  'docs/generated/configuration.md': describeConfiguration(listSettings()),
  ...describeClient(JSON.parse(openapi), errorCodes),
  '.env.example': describeEnvironmentExample(listSettings()),
};

const stale = Object.entries(files).filter(([path, text]) => readIfPresent(path) !== text);
if (process.argv.includes('--check')) {
  for (const [path] of stale) console.error(`${path} is out of date: run npm run describe`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) writeFileSync(root + path, text);
  console.log(
    stale.length > 0 ? `wrote ${stale.map(([path]) => path).join(', ')}` : 'all generated files are up to date',
  );
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(root + path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Migrates an empty database and describes its tables. */
async function describeMigratedTables(): Promise<string> {
  const name = `plinth_describe_${process.pid}`;
  await run(`${serverUrl}/postgres`, (client) => client.query(`create database ${name}`));
  try {
    await migrate(`${serverUrl}/${name}`, await readMigrations(migrationsFolder));
    return await run(`${serverUrl}/${name}`, describeTables);
  } finally {
    await run(`${serverUrl}/postgres`, (client) => client.query(`drop database ${name} with (force)`));
  }
}

async function run<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
