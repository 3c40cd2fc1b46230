// Opens a connection to exactly the vetted address. The peer's address is checked again before TLS starts.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { isSameAddress } from './address.ts';

export type DialFailure = 'address' | 'refused' | 'timeout' | 'tls' | 'reset';

export class DialError extends Error {
  readonly kind: DialFailure;
  constructor(kind: DialFailure, cause?: unknown) {
    super(`connection failed: ${kind}`, { cause });
    this.kind = kind;
  }
}

export interface DialOptions {
  readonly address: string;
  readonly port: number;
  /** The name that the certificate must be valid for. */
  readonly host: string;
  /** Undefined means plain TCP. */
  readonly secureContext: SecureContext | undefined;
  /** The timeout for TCP and TLS together. */
  readonly timeoutMs: number;
}

export function dial({ address, port, host, secureContext, timeoutMs }: DialOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  // `address` is an address literal, so Node resolves no name here.
  const tcp = connectTcp({ host: address, port, noDelay: true });
  const timer = setTimeout(() => fail('timeout'), timeoutMs);
  const fail = (kind: DialFailure, cause?: unknown) => {
    clearTimeout(timer);
    tcp.destroy();
    reject(new DialError(kind, cause));
  };
  const succeed = (socket: Socket) => {
    clearTimeout(timer);
    resolve(socket);
  };
  tcp.on('error', (error) => fail(isReset(error) ? 'reset' : 'refused', error));
  tcp.once('connect', () => {
    if (!isSameAddress(tcp.remoteAddress ?? '', address)) return fail('address');
    if (secureContext === undefined) return succeed(tcp);
    const socket = connectTls({
      socket: tcp,
      host,
      servername: isIP(host) === 0 ? host : '',
      secureContext,
      ALPNProtocols: ['http/1.1'],
      // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED could otherwise disable the check.
      rejectUnauthorized: true,
    });
    socket.on('error', (error) => fail(isReset(error) ? 'reset' : 'tls', error));
    socket.once('secureConnect', () => succeed(socket));
  });
  return promise;
}

const isReset = (error: Error): boolean => 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
