// Tests that the session page explains every state and every cause of failure. The page is tested in a browser in
// server/test/e2e/session-page.test.ts.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorCodes } from './session/session.ts';
import { states } from './transitions.ts';

const readScript = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
const script = readScript('page.browser.js');

const listKeys = (name: string): string[] => {
  const [, text = ''] = new RegExp(`const ${name} = \\{\\n([\\s\\S]*?)\\n\\};`).exec(script) ?? [];
  return [...text.matchAll(/^ {2}(\w+):/gm)].map(([, key = '']) => key);
};

it('explains every state and every error code, and no other', () => {
  expect(listKeys('states').sort()).toEqual([...states].sort());
  expect(listKeys('failures').sort()).toEqual([...errorCodes].sort());
});

it.each(['page.browser.js', 'actions.browser.js', 'question.browser.js'])(
  'uses what it is sent as text only: %s',
  (file) => {
    expect(readScript(file)).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc/);
  },
);
