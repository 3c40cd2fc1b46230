// The small app that browser session tests use: one page per path, served on loopback.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openBrowserSessions } from '../../src/gateways/browser/session/index.ts';
import type {
  BrowserSession,
  BrowserSessions,
  PageAction,
  SessionRequest,
} from '../../src/gateways/browser/session/types.ts';

export const executable = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
export const never = new AbortController().signal;

type Answer = string | ((request: IncomingMessage, response: ServerResponse) => void);

/** Serves these pages by path. Other paths get a 404. */
export async function servePages(pages: Record<string, Answer>) {
  const server = createServer((request, response) => {
    const answer = pages[request.url ?? ''];
    if (typeof answer === 'function') return answer(request, response);
    response.statusCode = answer === undefined ? 404 : 200;
    response.setHeader('content-type', request.url?.endsWith('.js') ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://app.localhost:${port}/`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function collectFailures() {
  const failures: string[] = [];
  const onFailure = (outcome: string, why: string) => void failures.push(`${outcome}: ${why}`);
  const settings = { executable, noSandbox: false, onFailure };
  return { failures, settings, sessions: openBrowserSessions(settings) };
}

/** `id` identifies the session's processes on this host. */
export async function openSession(
  sessions: BrowserSessions,
  request: Partial<SessionRequest> & Pick<SessionRequest, 'url'>,
): Promise<BrowserSession & { readonly id: string }> {
  const id = randomUUID();
  const opened = await sessions.open({ id, owner: id, alsoAllowed: [], signal: never, ...request });
  if (opened.outcome !== 'opened') throw new Error(opened.reason);
  return { ...opened.session, id };
}

export async function act(session: BrowserSession, action: PageAction) {
  const outcome = await session.act(action, never);
  if (outcome.outcome !== 'done') throw new Error(`${JSON.stringify(action)}: ${outcome.why}`);
  return outcome;
}

/** Returns the ref of the element whose line in a new snapshot contains the text, such as `button "Add"`. */
export async function refOf(session: BrowserSession, text: string, number = 0): Promise<string> {
  const { tree } = await session.snapshot();
  const lines = tree.split('\n').filter((line) => line.includes(text));
  const ref = /\[ref=(\w+)\]/.exec(lines[number] ?? '')?.[1];
  if (ref === undefined) throw new Error(`no ${text} in\n${tree}`);
  return ref;
}

export const processesOf = async (sessions: BrowserSessions, id: string): Promise<readonly number[]> =>
  (await sessions.listOnHost()).find((each) => each.id === id)?.processIds ?? [];
