// A loopback DNS server whose replies come from a function. The replies can change, fail or be omitted.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

export interface DnsAnswer {
  /** Addresses of the queried type. */
  readonly addresses?: readonly string[];
  /** The name that the queried name is an alias for, and to which the addresses belong. */
  readonly cname?: string;
  /**
   * How long the addresses may be cached. Also applies to the CNAME if it has no TTL of its own. The default of 0
   * forbids caching.
   */
  readonly ttlSeconds?: number;
  readonly cnameTtlSeconds?: number;
  /** The response code: 2 for server failure, 3 for no such name, 5 for refused. */
  readonly code?: number;
  /** Marks the reply as truncated. The client then retries over TCP, where no server listens. */
  readonly truncated?: boolean;
  /** Sends bytes that are not a valid reply. */
  readonly garbage?: boolean;
}

export type DnsZone = (name: string, type: 'A' | 'AAAA', asked: number) => DnsAnswer | 'silence';

export interface DnsSandbox {
  /** The value for `Resolver.setServers`. */
  readonly server: string;
  /** Returns the number of A and AAAA queries for a name. */
  queryCount(name: string): number;
  /** Returns the ports from which a name was queried. Replies to predictable ports are easy to forge. */
  listSourcePorts(name: string): readonly number[];
  close(): void;
}

/** `zone` receives the number of earlier queries for the same name and type. */
export async function startDnsSandbox(zone: DnsZone): Promise<DnsSandbox> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  const ports = new Map<string, Set<number>>();
  socket.on('message', (query, from) => {
    const { name, type, question } = readQuestion(query);
    const key = `${type} ${name}`;
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    ports.set(name, (ports.get(name) ?? new Set()).add(from.port));
    const answer = zone(name, type, before);
    if (answer !== 'silence') socket.send(write(query, question, type, answer), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    queryCount: (name) => (counts.get(`A ${name}`) ?? 0) + (counts.get(`AAAA ${name}`) ?? 0),
    listSourcePorts: (name) => [...(ports.get(name) ?? [])],
    close: () => socket.close(),
  };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1) === 28 ? ('AAAA' as const) : ('A' as const);
  return { name: labels.join('.').toLowerCase(), type, question: query.subarray(12, at + 5) };
}

function write(query: Buffer, question: Buffer, type: 'A' | 'AAAA', answer: DnsAnswer): Buffer {
  const { addresses = [], cname, ttlSeconds = 0, code = 0, truncated = false, garbage = false } = answer;
  const { cnameTtlSeconds = ttlSeconds } = answer;
  const id = query.subarray(0, 2);
  if (garbage) return Buffer.concat([id, Buffer.alloc(40, 0xff)]);
  const records: Buffer[] = [];
  const asked = Buffer.from([0xc0, 12]);
  if (cname !== undefined) records.push(record(asked, 5, cnameTtlSeconds, encodeName(cname)));
  const owner = cname === undefined ? asked : encodeName(cname);
  const number = type === 'A' ? 1 : 28;
  for (const address of addresses) records.push(record(owner, number, ttlSeconds, encodeAddress(address)));
  const header = Buffer.alloc(10);
  header.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | code, 0);
  header.writeUInt16BE(1, 2);
  header.writeUInt16BE(records.length, 4);
  return Buffer.concat([id, header, question, ...records]);
}

function record(owner: Buffer, type: number, ttlSeconds: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(ttlSeconds, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, head, data]);
}

const encodeName = (name: string): Buffer =>
  Buffer.concat([...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);

function encodeAddress(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
