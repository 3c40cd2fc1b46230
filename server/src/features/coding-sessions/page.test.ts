// The page of a session explains every state and every cause of a failure. server/test/e2e/session-page.test.ts opens it in a browser.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorCodes } from './session.ts';
import { states } from './transitions.ts';

const script = readFileSync(new URL('page.browser.js', import.meta.url), 'utf8');

const listKeys = (name: string): string[] => {
  const [, text = ''] = new RegExp(`const ${name} = \\{\\n([\\s\\S]*?)\\n\\};`).exec(script) ?? [];
  return [...text.matchAll(/^ {2}(\w+):/gm)].map(([, key = '']) => key);
};

it('explains every state and every error code, and no other', () => {
  expect(listKeys('states').sort()).toEqual([...states].sort());
  expect(listKeys('failures').sort()).toEqual([...errorCodes].sort());
});

it('uses what it is sent as text only', () => {
  expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc/);
});
