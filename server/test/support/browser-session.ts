// The helpers that browser run tests share: a session in the machine's Chromium, and language model clients.
import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { openBrowserSessions, type SessionOptions } from '../../src/gateways/browser/session/index.ts';
import type { BrowserSession } from '../../src/gateways/browser/session/types.ts';
import { type LanguageModel, openLanguageModel } from '../../src/gateways/language-model/index.ts';

/** Without a URL, no model is configured. */
export const openModel = (url: string | undefined): LanguageModel =>
  openLanguageModel({ url, apiKey: undefined, name: 'model' });

export async function startBrowserSession(
  url: string,
  alsoAllowed: readonly string[],
  options: SessionOptions = {},
): Promise<BrowserSession> {
  const failures: string[] = [];
  const executable = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
  const onFailure = (outcome: string, why: string) => void failures.push(`${outcome}: ${why}`);
  const sessions = openBrowserSessions({ executable, noSandbox: false, onFailure }, options);
  afterAll(() => sessions.close());
  const { signal } = new AbortController();
  const opened = await sessions.open({ id: randomUUID(), owner: 'test', url, alsoAllowed, signal });
  if (opened.outcome !== 'opened') throw new Error(`no browser: ${opened.reason} ${failures.join()}`);
  return opened.session;
}
