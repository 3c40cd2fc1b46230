// The package as it is published: publint and are-the-types-wrong find no fault in it.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, expect, it } from 'vitest';
import { installClient } from './installed.ts';

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'package-'));
afterAll(() => rm(folder, { recursive: true }));
await installClient(folder, []);
const pkgDir = join(folder, 'node_modules/@plinth/client');

it('publint has nothing to say', async () => {
  const { messages, pkg } = await publint({ pkgDir, pack: false, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

it('are-the-types-wrong finds no problem where modules are resolved as in Node or by a bundler', async () => {
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: pkgDir })).stdout);
  const checker = fileURLToPath(new URL('are-the-types-wrong.ts', import.meta.url));
  const { stdout } = await run(process.execPath, [checker, join(folder, filename)]);
  expect(JSON.parse(stdout)).toEqual({
    entrypoints: ['.', './audit', './describe.json', './webhooks'],
    problems: [],
  });
});
