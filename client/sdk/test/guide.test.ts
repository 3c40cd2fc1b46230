// Runs the samples of docs/guides/client-for-programs.md in order, as one program, against the real app.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { startWorld } from '../../../server/test/support/world.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = await mkdtemp(join(root, '.cache/guide-'));
afterAll(() => rm(folder, { recursive: true }));
const world = await startWorld();
const owner = await world.person('ada@example.com');
const workspace = await world.workspace(owner, 'enterprise');

it('the samples of the guide for programs do what it says', async () => {
  const guide = await readFile(join(root, 'docs/guides/client-for-programs.md'), 'utf8');
  const samples = [...guide.matchAll(/^```ts\n(.*?)^```/gms)].map(([, sample]) => sample);
  expect(samples.length).toBe(5);
  const program = samples.join('\n').replaceAll("'@plinth/client'", "'../../client/sdk/src/index.ts'");
  await writeFile(join(folder, 'samples.ts'), program);
  const env = { ...process.env, PLINTH_URL: world.url, PLINTH_TOKEN: await world.token(owner, workspace) };
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'samples.ts')], { env });
  expect(stdout.trim().split('\n')).toEqual([
    'Signed in as ada@example.com.',
    'true true',
    'There are no tasks yet.',
    'Push files first.',
    '600',
  ]);
});
