// Tests the files of the platform. What the client does is tested in a browser: test/e2e/runtime-client.test.ts.
import { expect, it } from 'vitest';
import { createPlatformFiles } from './files.ts';

const files = createPlatformFiles('https://plinth.example');
const app = { id: '01a1e049-a369-746f-97ba-54d7ce5ff60c' };

it('are the client, and a module that tells it which app it is and where the API is', () => {
  expect([...files.keys()]).toEqual(['client.js', 'app.js']);
  expect(String(files.get('app.js')?.(app))).toBe(
    `export const app = Object.freeze({"id":"${app.id}","api":"https://plinth.example"});\n`,
  );
  expect(String(files.get('client.js')?.(app))).toContain("import { app } from '/_plinth/app.js';");
});
