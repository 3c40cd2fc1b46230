// Runs docs/guides/first-hour.md and the example of README.md as a reader would: every command in bash, against what
// `npm run dev` starts. The server, the worker and the sandbox are real processes.
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { Guide, readBlocks, readSteps } from '../support/guide.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';
import { freePort } from './free-port.ts';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const text = await readFile(join(repository, 'docs/guides/first-hour.md'), 'utf8');
const readme = await readFile(join(repository, 'README.md'), 'utf8');
const folder = await mkdtemp(join(tmpdir(), 'first-hour-'));
const database = await cloneTemplate();
const port = String(await freePort());
const settings = {
  DATABASE_URL: database.url,
  MIGRATE_DATABASE_URL: database.ownerUrl,
  PORT: port,
  BASE_URL: `http://127.0.0.1:${port}`,
};
const { start } = commandLine(settings, repository, folder);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const startDev = async () => {
  const { child, log } = await start('dev', /valid until the next start/);
  const banner = log.join('').slice(log.join('').indexOf('Plinth is running'));
  return { child, banner, token: /export TOKEN=(\S+)/.exec(banner)?.[1] };
};

const first = await startDev();
const { banner } = first;
const guide = new Guide(folder);
await symlink(join(repository, 'docs'), join(folder, 'docs')); // the reader is in the folder of the clone
for (const [, name = '', value = ''] of banner.matchAll(/^ {2}export (\w+)=(\S+)$/gm)) guide.export(name, value);

describe('docs/guides/first-hour.md', () => {
  it('shows what `npm run dev` prints', () => {
    const shown = readBlocks(text).find((block) => block.text.startsWith('Plinth is running'));
    expect(guide.compare({ language: 'text', text: shown?.text ?? 'nothing' }, banner)).toBeUndefined();
  });

  it.each(readSteps(text))('line $line: the command prints what the guide says', (step) => guide.run(step));
});

describe('README.md', () => {
  it.each(readSteps(readme))('line $line: the command prints what the page says', (step) => guide.run(step));
});

describe('npm run dev', () => {
  it('stops on SIGTERM, keeps what was made, and revokes the token of the previous run', async () => {
    const exited = once(first.child, 'exit');
    first.child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    const second = await startDev();
    const status = async (as: string | undefined) => (await call(settings.BASE_URL, 'GET', '/api/apps', { as })).status;
    expect([await status(first.token), await status(second.token)]).toEqual([401, 200]);
    const { body } = await call(settings.BASE_URL, 'GET', '/api/apps?search=Tea', { as: second.token });
    expect(body.items.map(({ name }: { name: string }) => name)).toContain('Tea shop');
  });
});

describe('the comparison', () => {
  const compare = (expected: string, printed: unknown) =>
    new Guide(folder).compare({ language: 'json', text: expected }, JSON.stringify(printed));
  const [id, other] = ['019a8a1c-5d1e-7c11-8a6b-0f0e4d6f7c33', '019a8a1c-5d1e-7c11-8a6b-0f0e4d6f7c34'];

  it('accepts other ids, times and secrets, and whatever … stands for', () => {
    const expected = `{"id": "019b0000-…", "at": "2026-01-01T00:00:00.000Z", "secret": "whsec_a…", "n": [1, …], …}`;
    const printed = { id, at: '2026-11-15T10:00:00.123Z', secret: 'whsec_Zm9v/+=', n: [1, 2], more: true };
    expect(compare(expected, printed)).toBeUndefined();
  });

  it.each([
    ['another value', '{"state": "new"}', { state: 'sent' }],
    ['another number', '{"n": 1}', { n: 2 }],
    ['a field that is not shown', '{"state": "new"}', { state: 'new', total: 1 }],
    ['a missing field', '{"state": "new", "total": 1}', { state: 'new' }],
    ['fewer items', '{"n": [1, 2, …]}', { n: [1] }],
    ['what is not an id', '{"id": "019b0000-…"}', { id: 'x' }],
    ['two ids where the guide has one', '{"id": "019b0000-…", "by": "019b0000-…"}', { id, by: other }],
    ['a secret of another kind', '{"secret": "whsec_a…"}', { secret: 'plp_00' }],
    ['a date without a time', '{"at": "2026-01-01T00:00:00.000Z"}', { at: '2026-01-01' }],
  ])('refuses %s', (_what, expected, printed) => expect(compare(expected, printed)).toMatch(/^the answer/));
});
