// Runs docs/guides/coding-sessions.md as a reader would: every command in bash, against the processes that `npm run
// dev` starts. Also checks the demo's pull request.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { readSteps } from '../support/guide.ts';
import { repository, startDevelopment } from './dev.ts';

const text = await readFile(join(repository, 'docs/guides/coding-sessions.md'), 'utf8');
const { guide, baseUrl, token } = await startDevelopment();

describe('the demo', () => {
  it('has a session that has opened a pull request, whose diff people can read', async () => {
    const read = async (path: string) => (await call(baseUrl, 'GET', path, { as: token })).body;
    const { items: apps } = await read('/api/apps?search=Price+calculator');
    const { items: sessions } = await read(`/api/apps/${apps[0].id}/imported/sessions`);
    expect(sessions).toMatchObject([{ state: 'completed', outcome: 'pull_request', client_reference: 'demo' }]);
    const page = await (await fetch(sessions[0].pull_request.html_url)).text();
    expect(page).toContain('quantity &#62;= pieces');
  });
});

describe('docs/guides/coding-sessions.md', () => {
  it.each(readSteps(text))('line $line: the command prints what the guide says', (step) => guide.run(step, 0));
});
