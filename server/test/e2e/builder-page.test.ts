// Tests that a draft's page is loaded in a real browser before anything is saved.
import { expect, it } from 'vitest';
import { callTools, listCalls, listResults, say, startChatWorld, writeFile } from '../support/chat.ts';

const { scriptSteps, createApp, send, world, owner, workspace, readFile } = await startChatWorld({
  environment: { BROWSER_EXECUTABLE: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' },
  pageMs: 10_000, // shortens the test of a page that never finishes loading, from 20 seconds
});

const pageWith = (script: string) =>
  `<!doctype html><html lang="en"><head><title>Tasks</title></head><body><h1>My tasks</h1><script type="module">${script}</script></body></html>`;

it('the errors of a page are given to the model once, and what the last look found is shown', async () => {
  const app = await createApp();
  const requests = scriptSteps(
    callTools(writeFile('public/index.html', pageWith('document.querySelector("#none").focus();'))),
    say('Fine.'),
    callTools(['edit_file', { path: 'public/index.html', old_text: '"#none"', new_text: '"h1"' }], ['check_page', {}]),
    say('Corrected.'),
  );
  const got = await send(app);
  const checks = listCalls(got).filter(({ id, name }) => name === 'check_page' && id.startsWith('check_page'));
  expect(checks.map(({ status }) => status)).toEqual(['error', 'success']);
  expect(checks[0]?.results).toContain("Cannot read properties of null (reading 'focus')");
  expect(String(requests[2]?.messages.at(-1)?.content)).toContain("Cannot read properties of null (reading 'focus')");
  const looked = listResults(requests[3]).at(-1);
  expect(looked).toContain('The page was loaded with 0 errors. Its title: Tasks');
  expect(looked).toContain('My tasks');
  expect(await readFile(app, 'public/index.html')).toContain('"h1"');
});

it('the starter has no errors, with the runtime client that published pages get', async () => {
  const app = await world.appOf(owner, workspace);
  scriptSteps(
    callTools(['edit_file', { path: 'public/style.css', old_text: ':root {', new_text: ':root {\n  /* x */' }]),
    say(),
  );
  const got = await send(app);
  const [page] = listCalls(got).filter(({ name }) => name === 'check_page');
  expect(page).toMatchObject({ status: 'success', results: expect.stringContaining('loaded with 0 errors') });
});

it('the files of a page may have names that are encoded in addresses', async () => {
  const app = await createApp();
  const page = '<!doctype html><title>Tasks</title><h1>Tasks</h1><script src="100%25%20%231.js"></script>';
  scriptSteps(
    callTools(
      writeFile('public/index.html', page),
      writeFile('public/100% #1.js', 'document.querySelector("h1").textContent = "The script ran";'),
    ),
    say('Done.'),
  );
  const got = await send(app);
  const checks = listCalls(got).filter(({ name }) => name.startsWith('check_'));
  expect(checks.map(({ name, status }) => [name, status])).toEqual([
    ['check_files', 'success'],
    ['check_page', 'success'],
  ]);
  expect(checks[1]?.results).toContain('The script ran');
});

it('a page that is never done is an error of the page', async () => {
  const app = await createApp();
  scriptSteps(callTools(writeFile('public/index.html', pageWith('for (;;) {}'))), say('Fine.'), say('I leave it.'));
  const got = await send(app);
  const [page] = listCalls(got).filter(({ name }) => name === 'check_page');
  expect(page).toMatchObject({ status: 'error', results: expect.stringContaining('it may contain an infinite loop') });
});
