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
//   u         answers `route_not_found` itself, so that does not say that the server lacks the operation
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
