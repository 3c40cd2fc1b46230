// npm run describe: writes what is generated from the code and the database. With --check it writes nothing and fails
// when a file is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrationsFolder } from '../src/app.ts';
import { listSettings } from '../src/config.ts';
import { migrate, readMigrations } from '../src/kit/db/migrate.ts';
import { buildOpenApi } from '../src/openapi.ts';
import { describeCatalogue } from './catalogue.ts';
import { describeConfiguration } from './configuration.ts';
import { describeErrors } from './errors.ts';
import { listRoutes } from './routes.ts';
import { describeTables } from './tables.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432';

const routes = await listRoutes();
const files: Record<string, string> = {
  'server/src/tables.ts': await tablesOfMigrations(),
  'docs/generated/openapi.json': `${JSON.stringify(buildOpenApi(routes, '{base_url}'), null, 2)}\n`,
  'docs/generated/catalogue.md': describeCatalogue(routes),
  'docs/generated/errors.md': describeErrors(routes),
  'docs/configuration.md': describeConfiguration(listSettings()),
};

const stale = Object.entries(files).filter(([path, text]) => readIfThere(path) !== text);
if (process.argv.includes('--check')) {
  for (const [path] of stale) console.error(`${path} is not current: run npm run describe`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) writeFileSync(root + path, text);
  console.log(stale.length > 0 ? `wrote ${stale.map(([path]) => path).join(', ')}` : 'everything is current');
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(root + path, 'utf8');
  } catch {
    return undefined;
  }
}

/** The types of a database that has just been migrated and holds nothing else. */
async function tablesOfMigrations(): Promise<string> {
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
