// Tests the words for what a rule lets people do.
import { expect, it } from 'vitest';
import { describeOpening } from './rule-words.ts';

it.each([
  ['any_user', 'read', 'everybody who has an account in the app read “Task”'],
  ['creator', 'delete', 'whoever created a record delete “Task”'],
  [null, 'fields', 'people who could not be told apart see other fields of “Task”'],
] as const)('%s who may %s are named', (principal, operation, words) => {
  expect(describeOpening({ entity: 'Task', operation, principal })).toBe(words);
});
