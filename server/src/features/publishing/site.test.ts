// Tests reading an app as its visitors see it.
import { expect, it } from 'vitest';
import { allowOwnFiles } from './serve/app-headers.ts';

it.each([
  [
    "script-src https://shop.apps.example/js/ 'unsafe-inline'; img-src *",
    "script-src 'self' 'unsafe-inline'; img-src *",
  ],
  ['script-src shop.apps.example:8443, default-src *.apps.example', "script-src 'self', default-src 'self'"],
  ['script-src https:', "script-src https: 'self'"],
  ["script-src 'self' https://apps.example *.other.example", "script-src 'self' https://apps.example *.other.example"],
])('a policy that allows the own files of an app does so on another host: %s', (policy, expected) => {
  expect(allowOwnFiles(policy, 'shop.apps.example')).toBe(expected);
});
