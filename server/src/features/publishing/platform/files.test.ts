// Tests the platform files. test/e2e/runtime-client.test.ts tests the client's behaviour in a browser.
import { expect, it } from 'vitest';
import { createPlatformFiles } from './files.ts';

const files = createPlatformFiles('https://plinth.example');
const signIn = { sign_up: 'invited', methods: { password: true, link: false }, mail: true } as const;
const app = { id: '01a1e049-a369-746f-97ba-54d7ce5ff60c', signIn };

it('are the client, and a module with the app, the address of the API and the ways to sign in', () => {
  expect([...files.keys()]).toEqual(['client.js', 'app.js']);
  expect(String(files.get('app.js')?.(app))).toBe(
    `export const app = Object.freeze({"id":"${app.id}","api":"https://plinth.example",${JSON.stringify(signIn).slice(1)});\n`,
  );
  expect(String(files.get('client.js')?.(app))).toContain("import { app } from '/_plinth/app.js';");
});
