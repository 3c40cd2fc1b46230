// The limits on a session's work in its page. Work stops when the session ends, the signal is aborted, or the page
// stops responding.
import { SessionGone } from './types.ts';

export class PageStuck extends Error {}

export async function runBounded<T>(
  gone: Promise<'crashed' | 'closed'>,
  work: () => Promise<T>,
  maxMs: number,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => reject(new PageStuck('The page does not respond.')), maxMs);
  void gone.then((how) => reject(new SessionGone(`The browser has ${how === 'closed' ? 'been closed' : how}.`)));
  const working = work();
  working.catch(() => {}); // may fail after we have stopped waiting
  try {
    return await Promise.race([working, ended]);
  } catch (error) {
    // If the browser exits, work in progress can fail with many different errors.
    const how = await Promise.race([gone, undefined]);
    throw how === undefined || error instanceof SessionGone ? error : new SessionGone('The browser is gone.');
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
