// Tests that `npm run dev` reloads changed code. Runs from a copy of the sources, because other tests run from the
// original.
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { call } from '../support/client.ts';
import { copySources } from '../support/copy.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

const folder = await mkdtemp(join(tmpdir(), 'reload-'));
const database = await cloneTemplate();
const port = String(await freePort());
const baseUrl = `http://127.0.0.1:${port}`;
await copySources(folder);
const settings = { DATABASE_URL: database.url, MIGRATE_DATABASE_URL: database.ownerUrl, PORT: port, BASE_URL: baseUrl };
const { child, log } = await commandLine(settings, folder, folder).start(
  'dev',
  /valid until the next start/,
  '--no-sandbox',
);
afterAll(async () => {
  child.kill('SIGTERM');
  await once(child, 'exit');
  await database.drop();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 }); // worker may still be exiting
});

const source = join(folder, 'server/src/release.ts');
const original = await readFile(source, 'utf8');
/** Replaces the file with a new one, as most editors do. */
const save = async (text: string) => {
  await writeFile(`${source}.tmp`, text);
  await rename(`${source}.tmp`, source);
};
const withVersion = (suffix: string) => original.replace(').version;', `).version + '${suffix}';`);
const version = async () => (await call(baseUrl, 'GET', '/api/info')).body.version;
const waitFor = (what: () => unknown) => expect.poll(what, { interval: 1_000 });
const count = (text: string) => log.join('').split(text).length - 1;

describe('npm run dev', () => {
  it('answers with the new code after each save, and refuses no connection in between', async () => {
    let isDone = false;
    const healthy = (async () => {
      while (!isDone) {
        // Each request has its own connection, because a kept-alive connection may be closed while it is in use.
        const answer = await fetch(`${baseUrl}/healthz`, { headers: { connection: 'close' } });
        expect(answer.status).toBe(200);
        await sleep(20);
      }
    })();
    for (const suffix of ['-one', '-two']) {
      await save(withVersion(suffix));
      await waitFor(version).toContain(suffix);
    }
    isDone = true;
    await healthy;
    await waitFor(() => count('worker: reloaded in')).toBeGreaterThan(0);
  });

  it('keeps the code from before while a file has an error, and reloads once it is mended', async () => {
    const before = await version();
    await save(`${original}export const broken: = 1;\n`);
    await waitFor(() => count('api: not reloaded')).toBe(1);
    expect(await version()).toBe(before);
    await save(withVersion('-mended'));
    await waitFor(version).toContain('-mended');
  });

  it('does not reload for a test, and says that a migration and settings need a restart', async () => {
    const reloads = count('api: reloaded');
    await writeFile(join(folder, 'server/src/new.test.ts'), '// a test\n');
    await writeFile(join(folder, 'server/migrations/9999_later.sql'), '-- module: apps\n');
    await appendFile(join(folder, '.env'), 'LOG_LEVEL=debug\n');
    await waitFor(() => count('migrations changed: restart')).toBe(1);
    await waitFor(() => count('.env changed: restart')).toBe(1);
    expect(count('api: reloaded')).toBe(reloads);
  });
});
