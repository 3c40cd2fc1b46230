// Tests the names that new apps get from what a person wants to build.
import { expect, it } from 'vitest';
import { nameApp } from './names.ts';

it.each([
  ['I need a task list with owners, and due dates', 'Task list with owners'],
  ['Build me a shop', 'Shop'],
  ['please make an invoice tracker.\nIt should be blue', 'Invoice tracker'],
  ['  ', 'Untitled app'],
  ['x'.repeat(60), 'X'.padEnd(48, 'x')],
])('%s', (wish, name) => expect(nameApp(wish)).toBe(name));
