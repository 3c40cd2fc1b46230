// An advisory database for development and tests: the part of OSV's protocol that Plinth uses, with paging and fault
// switches. Tests add their own advisories. A few well-known ones are included, so a scan in development finds
// something.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { compare, valid } from 'semver';
import { createFaultSwitches, type Fault } from '../faults.ts';
import type { OsvRecord } from './osv.ts';
import { wellKnown } from './well-known.ts';

export type { OsvRecord };

export interface AdvisoriesSandbox {
  /** The value for `ADVISORIES_URL`. */
  readonly url: string;
  /** The calls received so far: `querybatch`, or `vuln` with the id. */
  readonly calls: readonly string[];
  /** Adds records. A record replaces an earlier one with the same id. */
  add(...records: readonly OsvRecord[]): void;
  clear(): void;
  setFaults(...faults: Fault[]): void;
  /** Sets the maximum number of advisories per query and response. */
  setPageSize(size: number): void;
  close(): Promise<void>;
}

interface BatchQuery {
  readonly package?: { readonly name?: string; readonly ecosystem?: string };
  readonly version?: string;
  readonly page_token?: string;
}

const maxQueries = 1_000;

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function startAdvisories({
  port = 0,
  records = wellKnown,
}: {
  readonly port?: number;
  readonly records?: readonly OsvRecord[];
} = {}): Promise<AdvisoriesSandbox> {
  const known = new Map<string, OsvRecord>(records.map((record) => [record.id, record]));
  const calls: string[] = [];
  const faults = createFaultSwitches();
  let pageSize = 1_000;

  function answerQuery(query: BatchQuery): object {
    const { name, ecosystem } = query.package ?? {};
    if (name === undefined || query.version === undefined) throw new Refusal(400, 'Invalid query.');
    const all = [...known.values()].filter((record) => concerns(record, ecosystem ?? '', name, query.version ?? ''));
    const start = Number(query.page_token ?? 0);
    const vulns = all.slice(start, start + pageSize).map(({ id, modified }) => ({ id, modified }));
    if (vulns.length === 0) return {};
    return { vulns, ...(start + pageSize < all.length && { next_page_token: String(start + pageSize) }) };
  }

  function answerBatch(text: string): object {
    const { queries } = JSON.parse(text) as { queries?: BatchQuery[] };
    if (!Array.isArray(queries)) throw new Refusal(400, 'Invalid query.');
    if (queries.length > maxQueries) throw new Refusal(400, 'Too many queries.');
    return { results: queries.map(answerQuery) };
  }

  function answerVuln(id: string): object {
    const record = known.get(id);
    if (record === undefined) throw new Refusal(404, 'Bug not found.');
    return record;
  }

  async function answerApi(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const body = await readBody(request);
    const [, id] = /^\/v1\/vulns\/([^/]+)$/.exec(path) ?? [];
    const isBatch = request.method === 'POST' && path === '/v1/querybatch';
    if (!isBatch && (request.method !== 'GET' || id === undefined)) throw new Refusal(404, 'Not found.');
    calls.push(isBatch ? 'querybatch' : `vuln ${id}`);
    const fault = faults.take(isBatch ? 'querybatch' : 'vuln');
    if (fault?.fault === 'drop_before' || fault?.fault === 'drop_after') return void response.destroy();
    if (fault?.fault === 'error_before' || fault?.fault === 'error_after') throw new Refusal(500, 'On purpose.');
    if (fault?.fault === 'refuse') throw new Refusal(400, 'Refused on purpose.');
    if (fault?.fault === 'delay') await sleep(fault.delay_ms ?? 1_000);
    sendJson(response, 200, isBatch ? answerBatch(body) : answerVuln(decodeURIComponent(id ?? '')));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://sandbox');
    if (pathname === '/sandbox/advisories') {
      if (request.method === 'POST') add(...(JSON.parse(await readBody(request)) as OsvRecord[]));
      return sendJson(response, 200, [...known.values()]);
    }
    if (pathname === '/sandbox/faults') {
      faults.set(JSON.parse(await readBody(request)) as Fault[]);
      return sendJson(response, 200, {});
    }
    return answerApi(request, response, pathname);
  }

  function add(...more: readonly OsvRecord[]): void {
    for (const record of more) known.set(record.id, record);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) {
        console.error('advisories', error);
        return void response.destroy();
      }
      sendJson(response, error.status, { code: error.status, message: error.message });
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    add,
    clear: () => known.clear(),
    setFaults: (...list) => faults.set(list),
    setPageSize: (size) => {
      pageSize = size;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Matches like the live database: by ecosystem or semantic version ranges, and by listed versions. */
function concerns({ withdrawn, affected = [] }: OsvRecord, ecosystem: string, name: string, version: string): boolean {
  if (withdrawn !== undefined) return false;
  return affected
    .filter((each) => each.package?.name === name && each.package.ecosystem === ecosystem)
    .some(
      ({ versions = [], ranges = [] }) =>
        versions.includes(version) ||
        ranges.some(({ type, events }) => type !== 'GIT' && valid(version) !== null && isWithin(version, events)),
    );
}

/** Whether the last event at or before the version introduced the vulnerability. */
function isWithin(version: string, events: readonly Readonly<Record<string, string>>[]): boolean {
  const points = events.flatMap((event) => Object.entries(event).map(([kind, at]) => ({ kind, at })));
  const order = (at: string) => (at === '0' ? '0.0.0-0' : at);
  let last = { kind: 'none', at: '0' };
  for (const point of points) {
    const distance = compare(version, order(point.at));
    const isPassed = point.kind === 'last_affected' ? distance > 0 : distance >= 0;
    if (isPassed && compare(order(point.at), order(last.at)) >= 0) last = point;
  }
  return last.kind === 'introduced';
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
