// Tests that nothing a person has stored is left in what operators see of queue rows, and that the rest stays readable.
import { expect, it } from 'vitest';
import { hideContent, hideInKey } from './hide-content.ts';

it.each([
  ['connect ECONNREFUSED 10.1.2.3:25', 'connect ECONNREFUSED …'],
  ['getaddrinfo ENOTFOUND mail.example.com', 'getaddrinfo ENOTFOUND …'],
  ['550 5.1.1 <ada@customers.example>: Recipient rejected', '550 5.1.1 <…>: Recipient rejected'],
  ['GET https://user:secret@example.com/a?token=x failed with 500', 'GET … failed with 500'],
  ['invalid input syntax for type uuid: "my diary"', 'invalid input syntax for type uuid: …'],
  ["the field 'price of tea' is unknown", 'the field … is unknown'],
  ['key sk_live_51Habcdefghijklmnop was refused', 'key … was refused'],
  ["it can't be read and won't be repeated", "it can't be read and won't be repeated"],
  ['the worker crashed while running it, 3 times', 'the worker crashed while running it, 3 times'],
  ['run 01980a11-7c00-7b11-8f00-000000000001 was removed', 'run 01980a11-7c00-7b11-8f00-000000000001 was removed'],
])('shows %j as %j', (text, shown) => {
  expect(hideContent(text)).toBe(shown);
});

it('shows the ids in a key, and the same hash for the same word', () => {
  const id = '019800aa-52a0-7c4e-8d29-0a4c1d2e9001';
  const shown = hideInKey(`${id} example.com`);
  expect(shown).toMatch(new RegExp(`^${id} #[0-9a-f]{8}$`));
  expect(hideInKey(`${id} example.com`)).toBe(shown);
  expect(hideInKey(`${id} example.org`)).not.toBe(shown);
  expect(hideInKey(id)).toBe(id);
});
