// Reads an operation's line of the table. Example: `GET /api/apps s r p=items`. After the method and the path come:
//
//   s, k, l   what a repeat does: safe, safe with a key, look before repeating
//   r         only reads
//   i         honours an Idempotency-Key
//   a         also answers anonymous callers, whose keys are ignored
//   d         a DELETE that answers `{success: true}`
//   b, B      has a body of the named fields, or a body that is passed whole
//   p=items   the answer is a page, with its items in this field
//   h=600     the connection may be held for this many seconds
//   n, t, y   the answer is lines of JSON, text, or bytes
//   e         there is only an event stream
//   v         a long call, which is read from its event stream
//   u         answers `route_not_found` itself, which then does not mean that the server lacks the operation
//   q=a,b     the parameters of the query, if there is also a body
import { table } from './generated/table.ts';

export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly has: (flag: string) => boolean;
  readonly value: (flag: string) => string | undefined;
}

const parsed = new Map<string, Operation>();

/** Returns undefined if there is no such operation. */
export function findOperation(name: string): Operation | undefined {
  const known = parsed.get(name);
  const line = Object.hasOwn(table, name) ? table[name] : undefined;
  if (known !== undefined || line === undefined) return known;
  const [method = '', path = '', ...flags] = line.split(' ');
  const values = new Map(flags.map((flag) => [flag.split('=')[0] ?? '', flag.split('=')[1]]));
  const operation = {
    name,
    method,
    path,
    has: (flag: string) => values.has(flag),
    value: (flag: string) => values.get(flag),
  };
  parsed.set(name, operation);
  return operation;
}

/** The operation with this path, as one whose answer is bytes and whose body is passed whole. */
export function findRoute(method: string, path: string, hasBody: boolean): Operation {
  // Anything else could become a part of the host: https://plinth.example.com@other.example
  if (!path.startsWith('/')) throw new TypeError('The path must begin with "/".');
  const [place = ''] = path.split(/[?#]/);
  const known = Object.keys(table)
    .map(findOperation)
    // A fixed path comes before one that has parameters in the same place.
    .sort((a, b) => (a?.path.split('{').length ?? 0) - (b?.path.split('{').length ?? 0))
    .find((each) => each?.method === method && toPattern(each.path).test(place));
  const isRead = method === 'GET' || method === 'HEAD';
  const kept = (flag: string) => (known === undefined ? isRead && flag === 'r' : known.has(flag));
  return {
    name: known?.name ?? `${method} ${place}`,
    method,
    path,
    has: (flag) => flag === 'y' || (flag === 'B' && hasBody) || ('sklriau'.includes(flag) && kept(flag)),
    value: (flag) => (flag === 'h' ? known?.value('h') : undefined),
  };
}

const toPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
