// Measures publishing: serving a published app's file compared with a bare program that sends the same bytes from
// memory, a publish's duration, and how many files a second publish uploads.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchOptions } from '../harness/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { createDatabase, startApi, startProgram } from '../harness/services.ts';
import { median, quantile, rounded } from '../harness/statistics.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import type { AppRow } from '../server/src/core/auth/proofs.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { runWrk } from './lib/load.ts';

const ratioBar = 0.5;
const publishBarSeconds = 2;
const servedBytes = 20 * 1024;
const fileCount = 500;
const bytesInAll = 20_000_000;

/** An app to publish, and a function that calls the API for it. */
interface Site {
  readonly app: AppRow;
  readonly origin: string;
  readonly folder: string;
  call(method: string, path: string, body?: object): Promise<unknown>;
}

export const publish: Bench = async (options) => {
  const database = await createDatabase('publish');
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
  const content = `export const text = '${'x'.repeat(servedBytes - 25)}';`.slice(0, servedBytes);
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '16',
    REDIS_PREFIX: `bench:${process.pid}:`,
    LOG_LEVEL: 'silent',
    STORAGE_FOLDER: folder,
    APPS_DOMAIN: 'apps.localhost',
    BENCH_CONTENT: content,
  };
  const bare = await startProgram(fileURLToPath(new URL('./publish/bare.ts', import.meta.url)), environment);
  const served = await startApi(environment);
  try {
    const site = await createSite(environment, served.port, folder);
    const serving = await measureServing(site, content, bare.port, served.port, options);
    const publishing = await measurePublishing(site, options);
    return {
      figures: { serving, publishing },
      judged: [
        { bar: `serving: ratio >= ${ratioBar}`, met: serving.ratio >= ratioBar },
        { bar: 'serving: no failed request', met: serving.failed === 0 },
        {
          bar: `publish of ${fileCount} files, 20 MB: p95 <= ${publishBarSeconds} s`,
          met: publishing.p95_seconds <= publishBarSeconds,
        },
        { bar: 'a second publish with one changed file uploads one file', met: publishing.uploaded_by_second === 1 },
      ],
      skipped: [],
    };
  } finally {
    await bare.stop();
    await served.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
};

async function createSite(environment: Record<string, string>, port: number, folder: string): Promise<Site> {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const workspace = await createBenchWorkspace(db, config, await createBenchUser(db));
  const app = await createBenchApp(db, workspace, 'user_app');
  await close();
  const origin = `http://127.0.0.1:${port}`;
  return {
    app,
    origin,
    folder,
    async call(method, path, body) {
      const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' };
      const sent = body === undefined ? null : JSON.stringify(body);
      const answer = await fetch(`${origin}/api/apps/${app.id}${path}`, { method, headers, body: sent });
      if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
  };
}

async function measureServing(
  site: Site,
  content: string,
  barePort: number,
  servedPort: number,
  { quick, progress }: BenchOptions,
) {
  await site.call('PUT', '/files', { files: [{ path: 'dist/app.js', content }] });
  await site.call('POST', '/deploy');
  const headers = { Host: `${site.app.slug}.apps.localhost` }; // capitalised so that wrk does not add its own
  const at = (port: number) => `http://127.0.0.1:${port}/app.js`;
  const blocks = 9;
  const seconds = quick ? 1 : 6;
  // Runs long enough for the JIT compiler, because a process is slower in its first seconds.
  for (const port of [barePort, servedPort]) await runWrk(at(port), { headers, seconds: quick ? 3 : 10 });
  const ratios: number[] = [];
  const rates = { bare: [] as number[], plinth: [] as number[] };
  let failed = 0;
  for (let block = 1; block <= blocks; block += 1) {
    const base = await runWrk(at(barePort), { headers, seconds });
    const published = await runWrk(at(servedPort), { headers, seconds });
    failed += base.failed + published.failed;
    rates.bare.push(base.perSecond);
    rates.plinth.push(published.perSecond);
    ratios.push(published.perSecond / base.perSecond);
    progress(
      `serving, block ${block} of ${blocks}: ${rounded(base.perSecond, 0)} bare, ${rounded(published.perSecond, 0)} plinth, ratio ${rounded(published.perSecond / base.perSecond)}`,
    );
  }
  return {
    ratio: rounded(median(ratios), 3),
    ratios: ratios.map((ratio) => rounded(ratio)),
    bare_per_second: rounded(median(rates.bare), 0),
    plinth_per_second: rounded(median(rates.plinth), 0),
    failed,
  };
}

async function measurePublishing(site: Site, { quick, progress }: BenchOptions) {
  const times: number[] = [];
  const rounds = quick ? 8 : 30;
  for (let round = 1; round <= rounds; round += 1) {
    await writeFreshFiles(site);
    const before = countObjects(site.folder);
    const startedAt = performance.now();
    await site.call('POST', '/deploy');
    times.push((performance.now() - startedAt) / 1000);
    if (countObjects(site.folder) - before !== fileCount) throw new Error('not all files were uploaded');
    progress(`publish ${round} of ${rounds}: ${rounded(times.at(-1) ?? 0)} s`);
  }
  const before = countObjects(site.folder);
  await site.call('PUT', '/files', { files: [{ path: 'dist/7.js', content: 'changed' }] });
  await site.call('POST', '/deploy');
  return {
    files: fileCount,
    bytes: bytesInAll,
    publishes: rounds,
    p50_seconds: rounded(median(times)),
    p95_seconds: rounded(quantile(times, 0.95)),
    max_seconds: rounded(Math.max(...times)),
    uploaded_by_second: countObjects(site.folder) - before,
  };
}

/** Writes files with new contents, in three requests because a request's body may have at most 10 MiB. */
async function writeFreshFiles(site: Site): Promise<void> {
  const files = Array.from({ length: fileCount }, (_, n) => ({
    path: `dist/${n}.js`,
    content: randomBytes(bytesInAll / fileCount / 2).toString('hex'),
  }));
  for (let start = 0; start < fileCount; start += 200)
    await site.call('PUT', '/files', { files: files.slice(start, start + 200) });
}

/** Counts the files on disk, regardless of the database. */
const countObjects = (folder: string): number =>
  readdirSync(join(folder, 'apps'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
