// An ad platform for development and tests: the Google Ads API's REST protocol for accounts below one manager, with
// simulated serving, fault switches and a journal on disk. A server restarted with the same folder continues where it
// stopped.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AccountFault, createFaultSwitches, type Fault } from '../faults.ts';
import { openJournal } from '../journal.ts';
import { changeAccount, manager, managerId } from './accounts.ts';
import { type CallContext, type CallPath, type CallResult, findCall, type Settings } from './calls.ts';
import { type PlatformError, Refusal, toErrorBody } from './errors.ts';
import { createState, type Resource } from './state.ts';
import { createTokenEndpoint } from './tokens.ts';

export interface AdPlatformEntry {
  readonly at: string;
  /** `applied` is recorded before the response is sent. Other events are recorded as they happen. */
  readonly event: 'received' | 'applied' | 'refused' | 'answered' | 'dropped' | 'control';
  readonly call?: string;
  readonly customer_id?: string;
  readonly request_id?: string;
  readonly fault?: string;
  readonly status?: number;
  readonly body?: unknown;
  readonly errors?: readonly PlatformError[];
  /** The changed resources by name. Null if the resource was removed. */
  readonly changes?: readonly (readonly [string, Resource | null])[];
  readonly clock_ahead_ms?: number;
  readonly settings?: Settings;
}

export interface AdPlatformSandbox {
  /** The value for `ADS_PLATFORM_URL`. */
  readonly url: string;
  /** The value for `ADS_PLATFORM_MANAGER_ID`. */
  readonly managerId: string;
  /** The value for `ADS_PLATFORM_CREDENTIALS`. */
  readonly credentials: string;
  /** Returns a service account's credentials with a new key. */
  serviceCredentials(): string;
  readonly journal: readonly AdPlatformEntry[];
  /** Replaces all faults. */
  setFaults(...faults: Fault[]): void;
  /** Replaces one account's faults and keeps all others, for tests that run in parallel. */
  setFaultsOf(customerId: string, ...faults: AccountFault[]): void;
  configure(change: Partial<Settings>): void;
  /** Moves the platform's clock forward. */
  advance(ms: number): void;
  setAccount(customerId: string, change: { status?: string; billing_status?: string }): void;
  /** Expires all access tokens. */
  expireTokens(): void;
  close(): Promise<void>;
}

export interface AdPlatformOptions {
  readonly port?: number;
  /** The journal's folder. Without it, nothing survives a restart. */
  readonly folder?: string;
  /** Called before each call is handled. Returns the fault to apply, if any. Used by drills. */
  readonly intercept?: (received: AdPlatformEntry) => Promise<Fault | undefined>;
}

const defaultSettings: Settings = {
  accepts_smart_creation: true,
  tag_delay_ms: 2_000,
  client_delay_ms: 0,
  page_size: 10_000,
};
const maxBodyBytes = 64 * 1024 * 1024;

export async function startAdPlatform({
  port = 0,
  folder,
  intercept,
}: AdPlatformOptions = {}): Promise<AdPlatformSandbox> {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const journal = openJournal<AdPlatformEntry>(folder && join(folder, 'ad-platform.jsonl'));
  const faults = createFaultSwitches();
  const tokens = createTokenEndpoint();
  const state = createState();
  let settings = defaultSettings;
  let aheadMs = 0;
  state.apply([[manager.resourceName, manager]]);
  for (const entry of journal.entries) {
    if (entry.changes !== undefined) state.apply(entry.changes);
    settings = { ...settings, ...entry.settings };
    aheadMs = entry.clock_ahead_ms ?? aheadMs;
  }

  const record = (entry: Omit<AdPlatformEntry, 'at'>) => journal.append({ at: new Date().toISOString(), ...entry });
  const control = (entry: Partial<AdPlatformEntry>) => record({ event: 'control', ...entry });
  const configure = (change: Partial<Settings>) => {
    settings = { ...settings, ...change };
    control({ settings });
  };
  const advance = (ms: number) => {
    aheadMs += ms;
    control({ clock_ahead_ms: aheadMs });
  };
  const setAccount: AdPlatformSandbox['setAccount'] = (customerId, change) => {
    const changes = [...changeAccount(state, customerId, change)];
    control({ changes });
    state.apply(changes);
  };

  /** Throws a Refusal if the caller may not access this account. */
  function checkCaller({ customerId, call }: CallPath, request: IncomingMessage): void {
    if (!tokens.isValid(request.headers.authorization))
      throw new Refusal({ code: 'authenticationError.OAUTH_TOKEN_INVALID', message: 'The access token is not valid.' });
    const account = state.get(`customers/${customerId}`);
    const login = request.headers['login-customer-id'] ?? customerId;
    if (account === undefined || (login !== customerId && login !== account._manager))
      throw new Refusal({ code: 'authorizationError.USER_PERMISSION_DENIED', message: 'User has no permission.' });
    const isClosed = account.status !== 'ENABLED' && account.status !== 'SUSPENDED';
    if (isClosed || (call === 'mutate' && account.status !== 'ENABLED'))
      throw new Refusal({ code: 'authorizationError.CUSTOMER_NOT_ENABLED', message: 'The account is not enabled.' });
  }

  function run(path: CallPath, body: Record<string, unknown>, requestId: string): CallResult {
    const { call, customerId, version } = path;
    const now = new Date(Date.now() + aheadMs);
    const context: CallContext = {
      state,
      customerId,
      now,
      settings,
      version,
      requestId,
      tagDelayMs: settings.tag_delay_ms,
      clientDelayMs: settings.client_delay_ms,
    };
    const result = path.run(body, context);
    if (result.changes.size > 0) {
      record({ event: 'applied', call, customer_id: customerId, request_id: requestId, changes: [...result.changes] });
      state.apply(result.changes);
    }
    return result;
  }

  async function answerCall(path: CallPath, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readBody(request);
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const requestId = randomBytes(12).toString('base64url');
    const about = { call: path.call, customer_id: path.customerId, request_id: requestId };
    const received = { at: new Date().toISOString(), event: 'received', ...about, body } as const;
    const fault = faults.take(path.call, path.customerId) ?? (await intercept?.(received));
    record({ event: 'received', ...about, body, ...(fault && { fault: fault.fault }) });
    const send = (status: number, answer: object) => {
      record({ event: 'answered', ...about, status });
      response.writeHead(status, { 'content-type': 'application/json', 'request-id': requestId });
      response.end(JSON.stringify(answer));
    };
    const sendErrors = (errors: readonly PlatformError[]) => {
      const { status, body } = toErrorBody(path.version, requestId, errors);
      record({ event: 'refused', ...about, errors });
      send(status, body);
    };
    const drop = () => {
      record({ event: 'dropped', ...about });
      response.destroy();
    };
    const internal = [{ code: 'internalError.INTERNAL_ERROR', message: 'An internal error has occurred.' }];
    try {
      if (fault?.fault === 'drop_before') return drop();
      if (fault?.fault === 'error_before') return sendErrors(internal);
      if (fault?.fault === 'delay') await sleep(fault.delay_ms ?? 1_000);
      checkCaller(path, request);
      if (fault?.fault === 'refuse')
        return sendErrors([
          { code: 'contextError.OPERATION_NOT_PERMITTED_FOR_CONTEXT', message: 'Refused on purpose.' },
        ]);
      let { body: answer } = run(path, body, requestId);
      if (fault?.fault === 'duplicate') ({ body: answer } = run(path, body, requestId));
      if (fault?.fault === 'drop_after') return drop();
      if (fault?.fault === 'error_after') return sendErrors(internal);
      send(200, answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      sendErrors(error.errors);
    }
  }

  async function answerControl(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (name === 'journal') return sendJson(response, journal.entries);
    const body = JSON.parse((await readBody(request)) || 'null');
    if (name === 'faults') faults.set(body as Fault[]);
    else if (name === 'settings') configure(body as Partial<Settings>);
    else if (name === 'clock') advance((body as { advance_ms: number }).advance_ms);
    else if (name === 'accounts') setAccount(body.customer_id, body);
    else return void response.writeHead(404).end('journal, faults, settings, clock, accounts');
    sendJson(response, {});
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', url);
    const [, controlName] = /^\/sandbox\/(\w+)$/.exec(pathname) ?? [];
    if (controlName !== undefined) return answerControl(controlName, request, response);
    if (pathname === '/token') {
      const fault = faults.take('token');
      const result = tokens.answer(await readBody(request), `${url}/token`);
      if (fault !== undefined) return void response.destroy();
      return sendJson(response, result.body, result.status);
    }
    const path = request.method === 'POST' ? findCall(pathname) : undefined;
    if (path === undefined) return sendJson(response, { error: { code: 404, status: 'NOT_FOUND', message: '' } }, 404);
    return answerCall(path, request, response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (!request.destroyed) console.error('ad platform', error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    managerId,
    credentials: tokens.userCredentials(`${url}/token`),
    serviceCredentials: () => tokens.serviceCredentials(`${url}/token`),
    journal: journal.entries,
    setFaults: (...list) => faults.set(list),
    setFaultsOf: (customerId, ...list) => faults.setOf(customerId, list),
    configure,
    advance,
    setAccount,
    expireTokens: tokens.expireAll,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      journal.close();
    },
  };
}

function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > maxBodyBytes) throw new Error('the request is too large');
  }
  return Buffer.concat(chunks).toString('utf8');
}
