// A payment provider for development and tests: the part of Stripe's protocol that Plinth uses, a page for entering a
// card, fault switches, and a journal on disk. A server restarted with the same folder continues where it stopped.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaultSwitches, type Fault } from '../faults.ts';
import { openJournal } from '../journal.ts';
import { html } from '../pages/html.ts';
import { type Page, sendPage } from '../pages/page.ts';

type Resource = Record<string, unknown> & { id: string; object: string };

export interface PaymentsEntry {
  readonly at: string;
  readonly event: 'received' | 'applied' | 'replayed' | 'refused' | 'dropped';
  readonly call: string;
  readonly idempotency_key?: string;
  readonly fault?: string;
  readonly changes?: readonly Resource[];
  /** The response that is replayed for the idempotency key. Null means a provider error. */
  readonly answer?: Resource | null;
}

export interface PaymentsSandbox {
  /** The value for `PAYMENTS_URL`. */
  readonly url: string;
  /** The value for `PAYMENTS_SECRET_KEY`. */
  readonly secretKey: string;
  readonly journal: readonly PaymentsEntry[];
  setFaults(...faults: Fault[]): void;
  /** Deletes a customer, as a user of the provider's dashboard could. */
  deleteCustomer(id: string): void;
  close(): Promise<void>;
}

export interface PaymentsOptions {
  readonly port?: number;
  readonly folder?: string;
  /** The sandbox's start page, to which the page links. */
  readonly startPage?: string;
}

const secretKey = 'sk_test_sandbox';
const sessionSeconds = 24 * 60 * 60;

/** An error response in the provider's format: a status, and a type with a message. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function startPayments({ port = 0, folder, startPage }: PaymentsOptions = {}): Promise<PaymentsSandbox> {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  const journal = openJournal<PaymentsEntry>(folder && join(folder, 'payments.jsonl'));
  const faults = createFaultSwitches();
  const resources = new Map<string, Resource>();
  const answers = new Map<string, Resource | null>();
  for (const entry of journal.entries) apply(entry);

  function apply({ changes = [], idempotency_key, answer }: Omit<PaymentsEntry, 'at'>): void {
    for (const each of changes) resources.set(each.id, each);
    if (idempotency_key !== undefined && answer !== undefined) answers.set(idempotency_key, answer);
  }
  const record = (entry: Omit<PaymentsEntry, 'at'>) => {
    journal.append({ at: new Date().toISOString(), ...entry });
    apply(entry);
  };
  const newId = (prefix: string) => `${prefix}_${randomBytes(10).toString('hex')}`;
  const nowSeconds = () => Math.floor(Date.now() / 1000);
  const get = (id: string, object: string): Resource => {
    const found = resources.get(id);
    if (found?.object !== object || found.deleted) throw new Refusal(404, `No such ${object}`, 'resource_missing');
    return found;
  };
  const listOf = (object: string) =>
    [...resources.values()].filter((each) => each.object === object && !each.deleted).reverse();
  const listAnswer = (data: readonly Resource[]) => ({ object: 'list', data, has_more: false, url: '' });

  function createCustomer(form: URLSearchParams): Resource {
    const workspace = form.get('metadata[plinth_workspace]') ?? '';
    return {
      id: newId('cus'),
      object: 'customer',
      created: nowSeconds(),
      metadata: { plinth_workspace: workspace },
      invoice_settings: { default_payment_method: null },
    };
  }

  function createSession(form: URLSearchParams): Resource {
    const customer = get(form.get('customer') ?? '', 'customer').id;
    if (form.get('mode') !== 'setup') throw new Refusal(400, 'The mode must be setup');
    const id = newId('cs');
    return {
      id,
      object: 'checkout.session',
      mode: 'setup',
      customer,
      status: 'open',
      success_url: form.get('success_url'),
      created: nowSeconds(),
      expires_at: nowSeconds() + sessionSeconds,
      url: `${url}/pay/${id}`,
    };
  }

  /** Enters a card on the page, as the customer would. The card then belongs to the customer. */
  function enterCard(id: string, card: { brand: string; last4: string }): string {
    const session = get(id, 'checkout.session');
    if (session.status !== 'open' || Number(session.expires_at) < nowSeconds())
      throw new Refusal(400, 'The page has expired');
    const method = { id: newId('pm'), object: 'payment_method', type: 'card', customer: session.customer, card };
    record({ event: 'applied', call: 'enterCard', changes: [method, { ...session, status: 'complete', url: null }] });
    return String(session.success_url);
  }

  function read(path: string, search: URLSearchParams): object {
    if (path === '/v1/customers') {
      const [from, to] = [Number(search.get('created[gte]')), Number(search.get('created[lte]'))];
      return listAnswer(listOf('customer').filter(({ created }) => Number(created) >= from && Number(created) <= to));
    }
    const [, customer = '', methods] = /^\/v1\/customers\/(\w+)(\/payment_methods)?$/.exec(path) ?? [];
    const found = get(customer, 'customer');
    if (methods === undefined) return found;
    const limit = Number(search.get('limit') ?? 10);
    return listAnswer(
      listOf('payment_method')
        .filter((method) => method.customer === customer)
        .slice(0, limit),
    );
  }

  function change(call: string, form: URLSearchParams, key: string | undefined): Resource {
    const known = key === undefined ? undefined : answers.get(key);
    if (known !== undefined) {
      record({ event: 'replayed', call, idempotency_key: key });
      if (known === null) throw new Refusal(500, 'An unknown error occurred');
      return known;
    }
    const answer = call === 'createCustomer' ? createCustomer(form) : createSession(form);
    record({ event: 'applied', call, idempotency_key: key, changes: [answer], answer });
    return answer;
  }

  const calls: Readonly<Record<string, string>> = {
    '/v1/customers': 'createCustomer',
    '/v1/checkout/sessions': 'createSession',
  };

  async function answerApi(request: IncomingMessage, response: ServerResponse, { pathname, searchParams }: URL) {
    if (request.headers.authorization !== `Bearer ${secretKey}`) throw new Refusal(401, 'Invalid API Key provided');
    const call = request.method === 'GET' ? 'read' : calls[pathname];
    if (call === undefined) throw new Refusal(404, `Unrecognized request URL (${request.method}: ${pathname})`);
    const form = new URLSearchParams(await readBody(request));
    const key = request.headers['idempotency-key'] as string | undefined;
    const fault = faults.take(call);
    record({ event: 'received', call, ...(key && { idempotency_key: key }), ...(fault && { fault: fault.fault }) });
    const run = () => (call === 'read' ? read(pathname, searchParams) : change(call, form, key));
    const drop = () => {
      record({ event: 'dropped', call });
      response.destroy();
    };
    if (fault?.fault === 'drop_before') return drop();
    /** Like the provider, returns the same error whenever the key is sent again. */
    const fail = () => {
      if (key !== undefined) record({ event: 'applied', call, idempotency_key: key, answer: null });
      return new Refusal(500, 'An unknown error occurred');
    };
    if (fault?.fault === 'error_before') throw fail();
    if (fault?.fault === 'refuse') throw new Refusal(400, 'Refused on purpose');
    if (fault?.fault === 'delay') await sleep(fault.delay_ms ?? 1_000);
    let result = run();
    if (fault?.fault === 'duplicate') result = run();
    if (fault?.fault === 'drop_after') return drop();
    if (fault?.fault === 'error_after') throw fail();
    sendJson(response, 200, result);
  }

  async function answerPage(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      get(id, 'checkout.session');
      return sendPage(response, toCardPage(startPage));
    }
    const form = new URLSearchParams(await readBody(request));
    const number = form.get('number') ?? '4242424242424242';
    const location = enterCard(id, { brand: number.startsWith('5') ? 'mastercard' : 'visa', last4: number.slice(-4) });
    response.writeHead(303, { location }).end();
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', url);
    const [, session] = /^\/pay\/(\w+)$/.exec(target.pathname) ?? [];
    if (session !== undefined) return answerPage(session, request, response);
    if (target.pathname === '/sandbox/journal') return sendJson(response, 200, journal.entries);
    if (target.pathname === '/sandbox/faults') {
      faults.set(JSON.parse(await readBody(request)) as Fault[]);
      return sendJson(response, 200, {});
    }
    return answerApi(request, response, target);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) {
        console.error('payments', error);
        return void response.destroy();
      }
      const { status, message, code } = error;
      record({ event: 'refused', call: String(status) });
      sendJson(response, status, {
        error: { type: status >= 500 ? 'api_error' : 'invalid_request_error', message, code },
      });
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    secretKey,
    journal: journal.entries,
    setFaults: (...list) => faults.set(list),
    deleteCustomer: (id) =>
      record({ event: 'applied', call: 'deleteCustomer', changes: [{ ...get(id, 'customer'), deleted: true }] }),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      journal.close();
    },
  };
}

const toCardPage = (startPage: string | undefined): Page => ({
  title: 'Add a card',
  main: html`<h1>Add a card</h1>
<p>This page belongs to the sandbox, which stands in for Stripe. Any card number works, and nothing is charged.</p>
<form method="post" class="fields">
<label for="number">Card number</label>
<input id="number" name="number" value="4242424242424242" inputmode="numeric" autocomplete="off" required>
<button>Save</button>
</form>`,
  startPage,
  isNarrow: true,
  sendsFormsElsewhere: true,
});

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
