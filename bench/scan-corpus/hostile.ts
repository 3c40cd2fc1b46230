// Scans an app that is designed to be hard to read, through the API, the queue and a worker. Every scan must end,
// whatever the app contains.
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { createDatabase, killProcess, startApi } from '../../harness/services.ts';
import { rounded } from '../../harness/statistics.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { readConfig } from '../../server/src/config.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import type { Tables } from '../../server/src/tables.ts';

export interface HostileScan {
  readonly files: number;
  readonly status: string;
  readonly coverage: string;
  readonly seconds: number;
}

const fileCount = 5_000;
const filesPerCall = 100;
const maxMs = 11 * 60_000;
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export async function scanHostileApp(): Promise<HostileScan> {
  const database = await createDatabase('hostile');
  const environment = {
    ...newKeys(),
    DATABASE_URL: database.url,
    REDIS_PREFIX: `bench:${process.pid}:`,
    LOG_LEVEL: 'silent',
  };
  const api = await startApi(environment);
  const worker = fork(file('../../server/src/main.ts'), ['worker'], { env: { ...process.env, ...environment } });
  try {
    const call = await openApp(environment, api.port);
    for (let from = 0; from < fileCount; from += filesPerCall) {
      await call('PUT', '/files', { files: Array.from({ length: filesPerCall }, (_, at) => hostileFile(from + at)) });
    }
    await call('PATCH', '/security/settings', { static_code_enabled: true });
    const startedAt = performance.now();
    await call('POST', '/security/scan');
    for (;;) {
      const { status, coverage } = await call('GET', '/security/scan');
      const seconds = rounded((performance.now() - startedAt) / 1000, 1);
      const isUnderWay = status === 'pending' || status === 'scanning';
      if (!isUnderWay || seconds * 1000 > maxMs) return { files: fileCount, status, coverage, seconds };
      await sleep(500);
    }
  } finally {
    await killProcess(worker);
    await api.stop();
    await database.drop();
  }
}

type Call = (method: string, path: string, body?: object) => Promise<{ status: string; coverage: string }>;

async function openApp(environment: Record<string, string>, port: number): Promise<Call> {
  const config = readConfig(environment);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const workspace = await createBenchWorkspace(db, config, await createBenchUser(db));
  const app = await createBenchApp(db, workspace, 'user_app');
  await close();
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' };
    const sent = body === undefined ? null : JSON.stringify(body);
    const url = `http://127.0.0.1:${port}/api/apps/${app.id}${path}`;
    const answer = await fetch(url, { method, headers, body: sent });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return { status: String(JSON.parse(text).status), coverage: answer.headers.get('x-scan-coverage') ?? '' };
  };
}

/**
 * Each kind challenges a different part: the parser, the patterns, the value tracking, or files that import each other.
 */
const kinds: readonly ((index: number) => string)[] = [
  (index) =>
    `import { f${index + 7} } from './${index + 7}.ts';\nexport const f${index} = (x) => f${index + 7}(x + 1);\n`,
  () => `const a = ${'['.repeat(3_000)}${']'.repeat(3_000)};\n`,
  () => `const a = ${'('.repeat(800)}1${')'.repeat(800)};\n`,
  () => `${Array.from({ length: 300 }, (_, at) => `const v${at + 1} = v${at} + v${at};`).join('\n')}\neval(v300);\n`,
  () => `export default async (r) => { let s = await r.text();\n${'s = s + s.trim();\n'.repeat(400)}eval(s); };\n`,
  () => `if (/^(a+)+$/.test(new URLSearchParams(location.search).get('q'))) location.href = '${'a'.repeat(2_000)}!';\n`,
  () => `const token = '${'aB3'.repeat(9_000)}';\n`,
  () => `const broken = {{{ ;;; ${'`${'.repeat(500)}\n`,
  (index) =>
    `Deno.serve(async (q) => { ${'await f(q); '.repeat(200)} return fetch(new URL(q.url).searchParams.get('u${index}')); });\n`,
  () =>
    `export const data = ${JSON.stringify(Array.from({ length: 1_500 }, (_, at) => ({ at, password: `p${at}` })))};\n`,
];

const hostileFile = (index: number) => ({
  path: `${index % 3 === 0 ? 'functions' : 'src/pages'}/${index}.ts`,
  content: kinds[index % kinds.length]?.(index) ?? '',
});
