// Runs docs/guides/first-hour.md, README.md and docs/guides/building-apps-by-chat.md as a reader would: every command in
// bash, against the processes that `npm run dev` starts.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { Guide, readBlocks, readSteps } from '../support/guide.ts';
import { repository, startDevelopment } from './dev.ts';

const text = await readFile(join(repository, 'docs/guides/first-hour.md'), 'utf8');
const chat = await readFile(join(repository, 'docs/guides/building-apps-by-chat.md'), 'utf8');
const readme = await readFile(join(repository, 'README.md'), 'utf8');
const { child, banner, token, start, guide, baseUrl, folder } = await startDevelopment();

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

describe('the program in README.md', () => {
  it('creates an app', async () => {
    const program = readBlocks(readme).find(({ language }) => language === 'ts')?.text ?? '';
    const file = join(folder, 'program.ts');
    await writeFile(file, program.replace('./client/', `${repository}/client/`).concat('console.log(id, name);\n'));
    const env = { ...process.env, PLINTH: baseUrl, TOKEN: token };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    expect(stdout).toMatch(/^[0-9a-f-]{36} Our tasks\n$/);
  });
});

describe('docs/guides/building-apps-by-chat.md', () => {
  it.each(readSteps(chat))('line $line: the command prints what the guide says', (step) => guide.run(step));
});

describe('npm run dev', () => {
  it('stops on SIGTERM, keeps what was made, and revokes the token of the previous run', async () => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    const second = await start();
    const status = async (as: string | undefined) => (await call(baseUrl, 'GET', '/api/apps', { as })).status;
    expect([await status(token), await status(second.token)]).toEqual([401, 200]);
    const { body } = await call(baseUrl, 'GET', '/api/apps?search=Tea', { as: second.token });
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
