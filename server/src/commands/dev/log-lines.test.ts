// Tests the log that `plinth dev` shows, which has short, readable lines but complete errors.
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { formatLogLine, isOwnRequest } from './log-lines.ts';

const format = (entry: object) => stripVTControlCharacters(formatLogLine(JSON.stringify(entry), 'api'));
const time = '2026-11-15T10:00:01.234Z';

it('shows a request as its status, operation and duration', () => {
  const request = { request_id: 'r1', operation: 'createApp', status: 200, duration_ms: 12.345, actor_id: 'u1' };
  expect(format({ level: 30, time, ...request, msg: 'request completed' })).toBe(
    '10:00:01 api     200 createApp, 12 ms  request r1',
  );
});

it('shows a message with its fields, without lists', () => {
  const started = { slot: 0, jobs: ['a', 'b'], msg: 'worker started' };
  expect(format({ level: 30, time, ...started })).toBe('10:00:01 api     worker started  slot=0');
});

it('shows the level and the stack of an error', () => {
  const error = { name: 'Error', message: 'no', stack: 'Error: no\n    at x' };
  expect(format({ level: 50, time, what: 'job', error, msg: 'background work failed' })).toBe(
    '10:00:01 api     error: background work failed  what=job\n  Error: no\n      at x',
  );
});

it('leaves out requests of `plinth dev` itself, unless something is wrong with them', () => {
  const request = { request_id: 'plinth-dev-1', operation: 'createApp', status: 200, msg: 'request completed' };
  expect(isOwnRequest(JSON.stringify({ level: 30, ...request }))).toBe(true);
  expect(isOwnRequest(JSON.stringify({ level: 50, ...request }))).toBe(false);
  expect(isOwnRequest(JSON.stringify({ level: 30, ...request, request_id: 'r1' }))).toBe(false);
  expect(isOwnRequest('receiver  /orders')).toBe(false);
});

it('leaves other text as it is', () => {
  expect(formatLogLine('receiver  /orders', 'sandbox')).toBe('receiver  /orders');
  expect(formatLogLine('{"a":1}', 'sandbox')).toBe('{"a":1}');
});
