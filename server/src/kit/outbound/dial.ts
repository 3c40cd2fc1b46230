// Owns one connection: to exactly the vetted address, whose peer is looked at again before TLS begins.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { sameAddress } from './address.ts';

export type DialFailure = 'address' | 'refused' | 'timeout' | 'tls' | 'reset';

export class DialError extends Error {
  readonly kind: DialFailure;
  constructor(kind: DialFailure, cause?: unknown) {
    super(`no connection: ${kind}`, { cause });
    this.kind = kind;
  }
}

export interface Line {
  readonly address: string;
  readonly port: number;
  /** The name the certificate must be for. */
  readonly host: string;
  /** Undefined: plain. */
  readonly secure: SecureContext | undefined;
  /** For TCP and TLS together. */
  readonly timeoutMs: number;
}

export function dial({ address, port, host, secure, timeoutMs }: Line): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  // An address literal: nothing is resolved here.
  const tcp = connectTcp({ host: address, port, noDelay: true });
  const timer = setTimeout(() => fail('timeout'), timeoutMs);
  const fail = (kind: DialFailure, cause?: unknown) => {
    clearTimeout(timer);
    tcp.destroy();
    reject(new DialError(kind, cause));
  };
  const done = (socket: Socket) => {
    clearTimeout(timer);
    resolve(socket);
  };
  tcp.on('error', (error) => fail(isReset(error) ? 'reset' : 'refused', error));
  tcp.once('connect', () => {
    if (!sameAddress(tcp.remoteAddress ?? '', address)) return fail('address');
    if (secure === undefined) return done(tcp);
    const socket = connectTls({
      socket: tcp,
      host,
      servername: isIP(host) === 0 ? host : '',
      secureContext: secure,
      ALPNProtocols: ['http/1.1'],
      // Said here, so that no variable of the environment turns the check off.
      rejectUnauthorized: true,
    });
    socket.on('error', (error) => fail(isReset(error) ? 'reset' : 'tls', error));
    socket.once('secureConnect', () => done(socket));
  });
  return promise;
}

const isReset = (error: Error): boolean => 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
