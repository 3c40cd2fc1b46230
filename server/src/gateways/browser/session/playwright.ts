// Owns loading Playwright, and keeping it from ending this process when a browser ends.
import type { BrowserType } from 'playwright-core';

/** What Playwright's client has, and does not declare. */
interface Connected {
  readonly _connection: { dispatch(message: unknown): void };
}

let loading: Promise<BrowserType> | undefined;

/** 0.3 s that most processes never need. */
export function loadPlaywright(): Promise<BrowserType> {
  loading ??= import('playwright-core').then(({ chromium }) => {
    guardDispatch((chromium as BrowserType & Connected)._connection);
    return chromium;
  });
  return loading;
}

/**
 * Playwright delivers each message in a task of its own. If a browser is killed between a result and its delivery, the result names a
 * handle that is gone, and the exception would end the process with all its other work. Who waits for such a result is told by
 * `gone` of the session.
 */
export function guardDispatch(connection: Connected['_connection']): void {
  const dispatch = connection.dispatch.bind(connection);
  connection.dispatch = (message) => {
    try {
      dispatch(message);
    } catch (error) {
      if (!isAboutGoneObject(error)) throw error;
    }
  };
}

const isAboutGoneObject = (error: unknown): boolean =>
  error instanceof Error &&
  /was not bound in the connection|^Cannot find (?:object|parent object) /.test(error.message);
