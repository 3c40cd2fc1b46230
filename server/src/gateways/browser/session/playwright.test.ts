// Tests that Playwright's errors about objects that no longer exist do not end the process, and that other exceptions
// are not hidden.
import { expect, it } from 'vitest';
import { guardDispatch, loadPlaywright } from './playwright.ts';

const dispatchOf = (why: string) => {
  const connection = {
    dispatch(_message: unknown) {
      throw new Error(why);
    },
  };
  guardDispatch(connection);
  return () => connection.dispatch({});
};

it('ignores messages about objects that ended with their browser', () => {
  expect(dispatchOf('Object with guid handle@1 was not bound in the connection')).not.toThrow();
  expect(dispatchOf('Cannot find object to "__dispose__": page@1')).not.toThrow();
  expect(dispatchOf('Cannot find parent object frame@1 to create handle@2')).not.toThrow();
});

it('throws every other exception', () => {
  expect(dispatchOf('Cannot find command to respond: 7')).toThrow('Cannot find command');
});

it('guards the connection that Playwright itself uses', async () => {
  const chromium = await loadPlaywright();
  const { _connection } = chromium as unknown as { _connection: { dispatch(message: unknown): void } };
  const aboutNothing = { guid: 'page@0', method: 'close', params: {} };
  expect(Object.hasOwn(_connection, 'dispatch')).toBe(true);
  expect(() => _connection.dispatch(aboutNothing)).not.toThrow();
});
