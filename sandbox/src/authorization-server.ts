// An authorization server for development and tests that serves every connector: a consent page, codes with PKCE,
// rotating refresh tokens, revocation, and a small API that accepts the issued tokens. It has switches that make a
// service fail, and a journal of its actions. oidc-provider implements the protocol (authorization-server-provider.ts).
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerApi } from './authorization-server-api.ts';
import { type ConnectorProvider, createConnectorProvider } from './authorization-server-provider.ts';

/**
 * `down` responds with 503. `silent` does not respond until the behaviour changes. `garbage` returns a page instead of
 * JSON. `refuse` responds with `invalid_grant`. None of these four processes the request. `drop` processes the request
 * and closes the connection instead of responding. `hold` processes the request and responds when the behaviour
 * changes.
 */
export type ServiceBehaviour = 'well' | 'down' | 'silent' | 'garbage' | 'refuse' | 'drop' | 'hold';

/** One of the server's actions. Tokens are identified by a few characters of their hash. */
export interface JournalEntry {
  readonly at: string;
  readonly connector: string;
  readonly event: 'received' | 'issued' | 'refused' | 'revoked' | 'answered' | 'api';
  readonly grant?: string;
  readonly error?: string;
  readonly status?: number;
  readonly path?: string;
  readonly idempotency_key?: string;
}

export interface AuthorizationServer {
  /**
   * The value for `CONNECTOR_SANDBOX_URL`. Each connector has the paths `/TYPE/authorize`, `/token`, `/revoke` and
   * `/api`.
   */
  readonly url: string;
  readonly journal: readonly JournalEntry[];
  behave(how: ServiceBehaviour, connector?: string): void;
  /** Sets the lifetime of access tokens issued from now on. */
  setLifetime(seconds: number): void;
  /** Withdraws the app's access, as the service's user could. Both tokens become invalid. */
  withdraw(connector: string): void;
  /** Acts as a user who allows everything that the URL requests. Returns the URL to which the user is redirected. */
  consent(authorizationUrl: string | URL, answer?: 'allow' | 'deny', scopes?: readonly string[]): Promise<URL>;
  close(): Promise<void>;
}

export interface AuthorizationServerOptions {
  readonly port?: number;
  /** Each journal entry is appended to this file as a line of JSON before the response is sent. */
  readonly journalFile?: string;
  /** The sandbox's start page, to which the consent page links. */
  readonly startPage?: string;
}

export async function startAuthorizationServer({
  port = 0,
  journalFile,
  startPage,
}: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const journal: JournalEntry[] = [];
  const providers = new Map<string, ConnectorProvider>();
  const behaviours = new Map<string, ServiceBehaviour>();
  let lifetimeSeconds = 3_600;
  const behaviourOf = (connector: string) => behaviours.get(connector) ?? behaviours.get('') ?? 'well';
  const record = (entry: Omit<JournalEntry, 'at'>) => {
    const line = { at: new Date().toISOString(), ...entry };
    journal.push(line);
    if (journalFile !== undefined) appendFileSync(journalFile, `${JSON.stringify(line)}\n`);
  };
  const providerOf = (connector: string): ConnectorProvider => {
    const known =
      providers.get(connector) ?? createConnectorProvider(`${url}/${connector}`, () => lifetimeSeconds, startPage);
    providers.set(connector, known);
    return known;
  };
  const behave = (how: ServiceBehaviour, connector = '') => void behaviours.set(connector, how);

  /**
   * Serves the token and revocation endpoints. The provider's response is held back until the journal has recorded it.
   */
  async function answerBackChannel(connector: string, request: IncomingMessage, response: ServerResponse) {
    const body = await readBody(request);
    const grant = new URLSearchParams(body).get('grant_type') ?? undefined;
    record({ connector, event: 'received', grant, path: request.url });
    const how = behaviourOf(connector);
    while (behaviourOf(connector) === 'silent') await sleep(10);
    if (request.socket.destroyed) return; // the client has disconnected
    if (how === 'down') return void response.writeHead(503).end('Service unavailable');
    if (how === 'garbage')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Hello</html>');
    if (how === 'refuse') {
      record({ connector, event: 'refused', grant, error: 'invalid_grant' });
      return void sendJson(response, 400, { error: 'invalid_grant' });
    }
    const answer = await providerOf(connector).request(request, body);
    record({ connector, grant, ...describeAnswer(request, answer) });
    if (how === 'drop') return void response.destroy();
    while (behaviourOf(connector) === 'hold') await sleep(10);
    response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
    record({ connector, event: 'answered', grant, status: answer.status });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', url);
    if (request.method === 'POST' && pathname === '/behave') {
      const [how = 'well', connector] = (await readBody(request)).trim().split(/\s+/);
      behave(how as ServiceBehaviour, connector);
      return void response.end();
    }
    if (pathname === '/journal') return sendJson(response, 200, journal);
    const [, connector = '', kind = ''] = pathname.split('/');
    if (!/^[a-z]{1,40}$/.test(connector)) return void response.writeHead(404).end(usage);
    if (kind === 'token' || kind === 'revoke') return answerBackChannel(connector, request, response);
    if (kind === 'api') {
      const result = await answerApi(
        connector,
        request,
        await readBody(request),
        providerOf(connector),
        behaviourOf(connector) === 'down',
      );
      record({ connector, event: 'api', ...result.entry });
      return sendJson(response, result.status, result.body);
    }
    return providerOf(connector).showPage(request, response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error('authorization server', error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    journal,
    behave,
    setLifetime: (seconds) => {
      lifetimeSeconds = seconds;
    },
    withdraw: (connector) => void providers.delete(connector),
    consent,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const usage =
  'Below /TYPE, the name of a connector, are authorize, token, revoke and api. GET /journal lists what happened. POST /behave takes a behaviour, and the name of a connector.';

function describeAnswer(request: IncomingMessage, { status, body }: { status: number; body: string }) {
  if (request.url?.includes('/revoke')) return { event: status < 300 ? 'revoked' : 'refused', status } as const;
  if (status < 300) return { event: 'issued' } as const;
  const { error } = JSON.parse(body) as { error: string };
  return { event: 'refused', error, status } as const;
}

/**
 * Acts as a browser without scripts: follows redirects on this server, keeps cookies, and clicks a button on the
 * consent page.
 */
async function consent(
  authorizationUrl: string | URL,
  answer: 'allow' | 'deny' = 'allow',
  scopes?: readonly string[],
): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  const { origin } = url;
  let form: string | undefined;
  for (let steps = 0; steps < 12; steps += 1) {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: form,
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    form = undefined;
    const location = response.headers.get('location');
    if (location === null) {
      if (!(await response.text()).includes('name="answer"')) throw new Error(`no consent page: ${response.status}`);
      form = new URLSearchParams({ answer, ...(scopes && { scopes: scopes.join(' ') }) }).toString();
      continue;
    }
    url = new URL(location, url);
    if (url.origin !== origin) return url;
  }
  throw new Error('the authorization server redirects forever');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
