// Loads Playwright, and prevents it from ending this process when a browser exits.
import type { BrowserType } from 'playwright-core';

/** A member of Playwright's client that is not declared in its types. */
interface Connected {
  readonly _connection: { dispatch(message: unknown): void };
}

let loading: Promise<BrowserType> | undefined;

/** Loaded on first use, because loading takes 0.3 s and most processes never need it. */
export function loadPlaywright(): Promise<BrowserType> {
  loading ??= import('playwright-core').then(({ chromium }) => {
    guardDispatch((chromium as BrowserType & Connected)._connection);
    return chromium;
  });
  return loading;
}

/**
 * Playwright delivers each message in its own task. If a browser is killed between a result and its delivery, the
 * result refers to a handle that no longer exists, and the exception would end this process and all its other work. The
 * code waiting for the result is notified through the session's `gone`.
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
