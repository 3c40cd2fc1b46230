// Records the responses that the tests received. Run as a program after the tests, it fails if an operation returned an
// undeclared status, code, header or error member, if a message is not on the messages page or uses the validation
// library's wording, or, with `--whole`, if a declared status was not observed.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { collectMessages, type Messages, toPattern } from '../../describe/messages.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { findEventStream } from '../../src/kit/http/operation.ts';
import { listRefusals } from '../../src/openapi/errors.ts';
import { commonHeaders, listHeaders } from '../../src/openapi/headers.ts';
import { membersOfCode, problemSchema } from '../../src/openapi/problems.ts';

export const observedFolder = fileURLToPath(new URL('../../../.cache/observed', import.meta.url));

/** Appends each kind of response from this server, and each kind of event in its streams, to a file. */
export function recordAnswers(server: FastifyInstance, routes: readonly Route[]): void {
  const routeOf = new Map(routes.map((route) => [route.name, route]));
  const seen = new Set<string>();
  const record = (line: string): void => {
    if (!seen.has(line)) appendFileSync(join(observedFolder, `${process.pid}.txt`), `${line}\n`);
    seen.add(line);
  };
  server.addHook('onSend', async (request, reply, payload) => {
    const operation = request.routeOptions.config.operation;
    const code = reply.statusCode >= 400 && reply.statusCode !== 422 ? readCode(payload) : '';
    // 499 means that the client disconnected while sending its body, so no one receives a response.
    if (operation === undefined || code === 'guards_passed' || reply.statusCode === 499) return;
    record(`${operation} ${reply.statusCode} ${code}`);
    for (const header of Object.keys(reply.getHeaders())) record(`header ${operation} ${reply.statusCode} ${header}`);
    for (const member of code === '' ? [] : listMembers(payload)) record(`member ${code} ${member}`);
    if (reply.statusCode >= 400 && Buffer.isBuffer(payload)) for (const line of listMessages(payload)) record(line);
    const route = routeOf.get(operation);
    if (route && payload instanceof Readable && String(reply.getHeader('content-type')).startsWith('text/event-stream'))
      recordEvents(payload, route, record);
  });
}

/** Records what the stream sends without reading from it, because its pace depends on the caller. */
function recordEvents(stream: Readable, route: Route, record: (line: string) => void): void {
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, ...more) => {
    for (const [, event = '', data = ''] of String(chunk ?? '').matchAll(/^event: (\S+)\ndata: (.*)$/gm)) {
      const shape = findEventStream(route)?.events?.[event]?.data;
      record(
        `event ${route.name} ${event} ${shape?.safeParse(JSON.parse(data)).success ? 'described' : 'undescribed'}`,
      );
    }
    return push(chunk, ...more);
  };
}

/** Lists the events that the document does not describe, or not with this data. */
const findUndescribedEvents = (observed: ReadonlySet<string>): string[] =>
  [...observed]
    .map((line) => line.split(' '))
    .filter(([kind, , , described]) => kind === 'event' && described !== 'described')
    .map(([, name, event]) => `${name} sent an event ${event} that its media type does not describe`);

const messagePrefix = 'message:';

/** Returns lines such as `message:slug_taken Another app uses this slug.` and `message:422 must be an integer`. */
function listMessages(payload: Buffer): string[] {
  const { code, detail, errors = [] } = JSON.parse(payload.toString('utf8'));
  const messages: [code: string, text: string][] = Array.isArray(detail)
    ? detail.map(({ msg }) => ['422', msg])
    : [
        [code, detail],
        ...errors.map((each: { error_code: string; message: string }) => [each.error_code, each.message]),
      ];
  return messages.map(([of, text]) => `${messagePrefix}${of} ${text.replaceAll('\n', ' ')}`);
}

/** Whether the text uses the validation library's own wording. */
export const findForeignWording = (text: string): boolean =>
  /invalid (input|option|key|element|string|type)|too (big|small):|expected .* to |expected (string|number|boolean|array|object|int|record)|unrecognized key|received /i.test(
    text,
  );

function findMessageFaults(lines: readonly string[], { problems, faults }: Messages): string[] {
  const patterns = new Map([...problems].map(([code, messages]) => [code, messages.map(toPattern)]));
  patterns.set('422', faults.map(toPattern));
  return lines.flatMap((line) => {
    const [, code = '', text = ''] = /^(\w+) (.*)$/.exec(line.slice(messagePrefix.length)) ?? [];
    if (findForeignWording(text)) return [`a message in the words of the validation library: ${code} ${text}`];
    return patterns.get(code)?.some((pattern) => pattern.test(text))
      ? []
      : [`a message that docs/generated/messages.md does not list: ${code} ${text}`];
  });
}

/** Lists a problem's members. Empty for an error page. */
const listMembers = (payload: unknown): string[] =>
  String(payload).startsWith('{') ? Object.keys(JSON.parse(String(payload)) as object) : [];

export interface Change {
  readonly operation: string;
  readonly requestId: string;
  readonly audits: readonly string[];
}

/** Collects the requests that changed something. Each must have written an audit entry. */
export function recordChanges(server: FastifyInstance, routes: readonly Route[]): Change[] {
  const audited = new Map(routes.map((route) => [route.name, route.audits]));
  const changes: Change[] = [];
  server.addHook('onSend', async (request, reply) => {
    const operation = request.routeOptions.config.operation ?? '';
    const changed =
      reply.statusCode < 300 && reply.getHeader('x-changed') !== 'false' && !reply.getHeader('idempotent-replayed');
    const audits = audited.get(operation);
    if (changed && Array.isArray(audits)) changes.push({ operation, requestId: request.id, audits });
  });
  return changes;
}

/** Reads the code from a problem, or from the error page that a browser gets instead. */
const readCode = (payload: unknown): string => /(?:"code":|data-code=)"(\w+)"/.exec(String(payload))?.[1] ?? '';

/** `isWhole` means that all tests have run, so every declared status must have been observed. */
function findFaults(routes: readonly Route[], observed: ReadonlySet<string>, isWhole: boolean): string[] {
  const lines = [...observed].map((line) => line.split(' '));
  const answersOf = Map.groupBy(lines, ([name]) => name);
  const headersOf = Map.groupBy(
    lines.filter(([kind]) => kind === 'header'),
    ([, name]) => name,
  );
  return routes.flatMap((route) => {
    const answers = answersOf.get(route.name) ?? [];
    const statuses = new Set(answers.map(([, status]) => Number(status)));
    const declared = [
      ...Object.keys(route.answers).map(Number),
      ...listRefusals(route).map((refusal) => refusal.status),
    ];
    const codes = new Set(listRefusals(route).map((refusal) => `${refusal.status} ${refusal.code}`));
    const unseen = [...new Set(declared)].filter(
      (status) => isWhole && !statuses.has(status) && !(status === 409 && isAlike(route)),
    );
    const undeclared = answers.filter(
      ([, status, code]) =>
        !(Number(status) in route.answers) &&
        status !== '422' &&
        !codes.has(`${status} ${code}`) &&
        !always.has(`${status} ${code}`),
    );
    const headers = (headersOf.get(route.name) ?? []).filter(
      ([, , status, header]) => !isDeclared(route, status, header),
    );
    return [
      ...headers.map(
        ([, , status, header]) => `${route.name} answered ${status} with ${header}, which it does not declare`,
      ),
      ...unseen.map((status) => `${route.name} declares ${status}, which no test observed`),
      ...undeclared.map(([, status, code]) => `${route.name} answered ${status} ${code}, which it does not declare`),
      ...(statuses.has(422) && !declared.includes(422)
        ? [`${route.name} answered 422, which it does not declare`]
        : []),
    ];
  });
}

function isDeclared(route: Route, status = '', header = ''): boolean {
  return (
    commonHeaders.includes(header) || listHeaders(route, Number(status)).some((name) => name.toLowerCase() === header)
  );
}

/** Lists error members that the document does not describe. */
const findUndeclaredMembers = (observed: ReadonlySet<string>): string[] =>
  [...observed]
    .map((line) => line.split(' '))
    .filter(([kind, code = '', member = '']) => kind === 'member' && !isMember(code, member))
    .map(([, code, member]) => `${code} has a member ${member}, which src/openapi/problems.ts does not describe`);

const isMember = (code: string, member: string): boolean =>
  member in (problemSchema.properties as object) || member in (membersOfCode[code] ?? {});

// Any operation may return these errors, so they are not declared per operation.
const always = new Set([
  '500 internal_error',
  '503 service_unavailable',
  '503 busy',
  '400 malformed_request',
  '404 route_not_found', // an empty path parameter
  '413 payload_too_large',
  '415 unsupported_media_type',
]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { listRoutes } = await import('../../describe/routes.ts');
  const lines = readdirSync(observedFolder).flatMap((file) =>
    readFileSync(join(observedFolder, file), 'utf8').trim().split('\n'),
  );
  const routes = await listRoutes();
  const all = new Set(lines);
  const messages = [...all].filter((line) => line.startsWith(messagePrefix));
  const faults = [
    ...findFaults(routes, all, process.argv.includes('--whole')),
    ...findUndeclaredMembers(all),
    ...findUndescribedEvents(all),
    ...findMessageFaults(messages, collectMessages(routes)),
  ];
  for (const fault of faults) console.error(fault);
  const kinds = all.size - messages.length;
  console.log(
    `${routes.length} operations, ${kinds} kinds of answers and ${messages.length} messages observed, ${faults.length} faults`,
  );
  process.exitCode = faults.length > 0 ? 1 : 0;
}

/**
 * Whether all of the route's requests are identical, so an `Idempotency-Key` conflicts only while the first request is
 * in progress.
 */
function isAlike({ path, query, body, refusals = [] }: Route): boolean {
  return !body && !query && !path.includes('{') && !refusals.some(({ status }) => status === 409);
}
