// A hostile connection: HTTP/1.1 on a raw socket, because a well-behaved client would limit itself.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { HostileRequest } from './way.ts';

export interface Connection {
  readonly socket: Socket;
  isOpen(): boolean;
  /** Sends requests and waits for their responses. Returns the statuses, with `closed` for each missing response. */
  exchange(requests: readonly Buffer[][], onlyHead?: boolean): Promise<string[]>;
  write(bytes: Buffer | string): void;
  close(): void;
}

interface OpenOptions {
  readonly port: number;
  /** The source address. */
  readonly from: string;
  /** Whether the connection reads nothing until explicitly resumed. */
  readonly paused?: boolean;
}

/** Returns undefined if the server refuses the connection. */
export async function openConnection({ port, from, paused }: OpenOptions): Promise<Connection | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from, noDelay: true });
  socket.on('error', () => {});
  try {
    await once(socket, 'connect');
  } catch {
    return undefined;
  }
  const answers = readAnswers(socket);
  if (paused) socket.pause();
  return {
    socket,
    isOpen: () => !socket.destroyed && socket.writable,
    exchange(requests, onlyHead = false) {
      socket.cork();
      for (const parts of requests) for (const part of parts) socket.write(part);
      socket.uncork();
      return Promise.all(requests.map(() => answers.next(onlyHead)));
    },
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    close: () => socket.destroy(),
  };
}

export function encode({ method, path, body, headers, token }: HostileRequest): Buffer[] {
  const payload = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'host: plinth.example'];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (payload !== undefined) lines.push('content-type: application/json', `content-length: ${payload.length}`);
  for (const [name, value] of Object.entries(headers ?? {})) lines.push(`${name}: ${value}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return payload === undefined ? [head] : [head, payload];
}

interface Waiter {
  readonly onlyHead: boolean;
  resolve(status: string): void;
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Reads as little as possible of each response: its status and its end. */
function readAnswers(socket: Socket) {
  const waiters: Waiter[] = [];
  let head: Buffer = Buffer.alloc(0);
  let status = '';
  /** The number of bytes left in the body. Undefined while a head is being read. */
  let left: number | 'chunked' | undefined;
  let tail: Buffer = Buffer.alloc(0);

  const finish = () => {
    left = undefined;
    tail = Buffer.alloc(0);
    waiters.shift()?.resolve(status);
  };
  const readHead = (chunk: Buffer): Buffer | undefined => {
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const end = head.indexOf(headEnd);
    if (end < 0) return undefined;
    const text = head.toString('latin1', 0, end);
    const rest = head.subarray(end + headEnd.length);
    head = Buffer.alloc(0);
    status = text.slice(9, 12);
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    left = length === undefined && /\r\ntransfer-encoding: chunked/i.test(text) ? 'chunked' : Number(length ?? 0);
    if (left === 0 || waiters[0]?.onlyHead) finish();
    return rest;
  };
  const readBody = (chunk: Buffer): Buffer | undefined => {
    if (left === 'chunked') {
      tail = Buffer.concat([tail, chunk]).subarray(-lastChunk.length);
      if (tail.equals(lastChunk)) finish();
      return undefined;
    }
    const taken = Math.min(left ?? 0, chunk.length);
    left = (left ?? 0) - taken;
    if (left === 0) finish();
    return chunk.subarray(taken);
  };
  socket.on('data', (chunk: Buffer) => {
    let rest: Buffer | undefined = chunk;
    while (rest !== undefined && rest.length > 0) rest = left === undefined ? readHead(rest) : readBody(rest);
  });
  socket.on('close', () => {
    for (const waiter of waiters.splice(0)) waiter.resolve('closed');
  });
  return {
    next: (onlyHead: boolean): Promise<string> => {
      const { promise, resolve } = Promise.withResolvers<string>();
      if (socket.destroyed) resolve('closed');
      else waiters.push({ onlyHead, resolve });
      return promise;
    },
  };
}
