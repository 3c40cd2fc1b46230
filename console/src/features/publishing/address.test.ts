import { describe, expect, it } from 'vitest';
import { changeName, findNameFault, isOnlyHere } from './address.ts';

describe('the name in an address', () => {
  it.each([
    ['My Tasks', 'my-tasks'],
    ['-Übersicht-', 'ubersicht'],
    ['a', 'my-tasks'],
    ['preview--shop', 'preview-shop'],
    ['', 'my-tasks'],
  ])('%j is refused with a suggestion', (name, suggested) => {
    expect(findNameFault(name)).toBe(`Use lower-case letters, digits and hyphens: for example ${suggested}.`);
    expect(findNameFault(suggested)).toBeUndefined();
  });

  it('is changed in the host, or in the path', () => {
    expect(changeName('https://shop.example-apps.com/', 'shop', 'store')).toBe('https://store.example-apps.com/');
    expect(changeName('http://127.0.0.1:8080/p/shop/', 'shop', 'store')).toBe('http://127.0.0.1:8080/p/store/');
  });
});

it.each([
  ['http://shop.apps.localhost:8080/', true],
  ['http://localhost/', true],
  ['http://127.0.0.1:8080/p/shop/', true],
  ['http://[::1]/', true],
  ['https://shop.example-apps.com/', false],
  ['https://localhost.example.com/', false],
])('whether only this computer can open %s: %s', (address, isHere) => {
  expect(isOnlyHere(address)).toBe(isHere);
});
