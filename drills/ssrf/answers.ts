// Attacks through responses: everything that a hostile public server can send or fail to send.

import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { httpResponse, type RawServerOptions } from '../../sandbox/src/raw-server.ts';
import type { Outcome } from '../../server/src/kit/outbound/outcome.ts';
import { connectMs, type Environment, fault, type Vector } from './environment.ts';

const slowMs = 1_500;
const slack = 1_500;
const maxBodyBytes = 4_096;

interface Attack {
  readonly onData: RawServerOptions['onData'];
  readonly expected: readonly string[];
  readonly withinMs?: number;
  readonly greeting?: string;
  readonly plain?: true;
  /** An additional condition. */
  readonly holds?: (outcome: Outcome) => boolean;
}

const say = (text: string) => (socket: Socket) => void socket.write(text);
const sayAndEnd = (text: string) => (socket: Socket) => void socket.end(text);

function drip(start: string, piece: string) {
  return (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(piece), 50);
    socket.once('close', () => clearInterval(timer));
  };
}

function pour(start: string, piece: string) {
  return (socket: Socket) => {
    socket.write(start);
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    more();
  };
}

const timeout = ['failed:timeout'];
const protocol = ['failed:protocol'];
const slow = { expected: timeout, withinMs: slowMs + slack };
const isCut = (outcome: Outcome) =>
  outcome.outcome === 'answered' && outcome.truncated && outcome.body.length === maxBodyBytes;
const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const piece = 'x'.repeat(16_384);
const bomb = gzipSync(Buffer.alloc(50_000_000)).toString('latin1');

const attacks: Record<string, Attack> = {
  'answer before the request': {
    greeting: httpResponse('200 OK', [], 'early'),
    onData: () => {},
    expected: ['answered:200', 'failed:protocol', 'failed:reset'],
  },
  // Slow responses.
  'silence after the request': { onData: () => {}, ...slow },
  'handshake that never begins': { onData: () => {}, plain: true, expected: timeout, withinMs: connectMs + slack },
  'handshake that drips': {
    onData: drip('\x16\x03\x03\x3f\xff', '\x02'),
    plain: true,
    expected: timeout,
    withinMs: connectMs + slack,
  },
  'status line that drips': {
    onData: drip('HTTP/1.1 2', '0'),
    expected: [...timeout, ...protocol],
    withinMs: slowMs + slack,
  },
  'headers that drip': { onData: drip(`${ok}X-Drip: `, 'x'), ...slow },
  'header lines that drip': { onData: drip(ok, 'X: y\r\n'), ...slow },
  'body that drips': { onData: drip(`${ok}Content-Length: 4000\r\n\r\n`, 'x'), ...slow },
  'chunks that drip': { onData: drip(chunked, '1\r\nx\r\n'), ...slow },
  'body that never ends the connection': { onData: say(`HTTP/1.0 200 OK\r\n\r\nhello`), ...slow },
  'interim answers without end': { onData: drip('', 'HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n'), ...slow },
  'trailers that drip': { onData: drip(`${chunked}0\r\nX-Trailer: `, 'x'), ...slow },
  // Large responses.
  'one huge header': { onData: say(`${ok}X-Huge: ${'x'.repeat(1_000_000)}\r\n\r\n`), expected: ['failed:too_large'] },
  'headers without end': { onData: pour(ok, `X-More: ${'y'.repeat(200)}\r\n`), expected: ['failed:too_large'] },
  'huge reason phrase': {
    onData: pour('HTTP/1.1 200 ', piece),
    expected: [...timeout, ...protocol, 'failed:too_large'],
    withinMs: slowMs + slack,
  },
  'body of 10 GB': {
    onData: pour(`${ok}Content-Length: 10000000000\r\n\r\n`, piece),
    expected: ['answered:200'],
    holds: isCut,
  },
  'chunks without end': { onData: pour(chunked, `4000\r\n${piece}\r\n`), expected: ['answered:200'], holds: isCut },
  'body without length or end': {
    onData: pour(`${ok}Connection: close\r\n\r\n`, piece),
    expected: ['answered:200'],
    holds: isCut,
  },
  'gzip bomb': {
    onData: (socket) => {
      socket.write(`${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb, 'latin1');
    },
    expected: ['answered:200'],
    holds: isCut,
  },
  'trailers without end': {
    onData: pour(`${chunked}0\r\n`, `X-More: ${'y'.repeat(200)}\r\n`),
    expected: ['failed:too_large'],
  },
  'chunk extension without end': {
    onData: pour(`${chunked}5;`, piece),
    expected: [...timeout, ...protocol, 'failed:too_large'],
    withinMs: slowMs + slack,
  },
  // Malformed responses.
  'no HTTP at all': { onData: say('220 smtp.example ESMTP\r\n'), expected: protocol },
  'HTTP/0.9': { onData: sayAndEnd('<html>hello</html>'), expected: protocol },
  'HTTP/1.0 with a body to the end': { onData: sayAndEnd('HTTP/1.0 200 OK\r\n\r\nhello'), expected: ['answered:200'] },
  'HTTP/2 preface': { onData: say('\0\0\x12\x04\0\0\0\0\0'), expected: protocol },
  'two lengths': { onData: say(`${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`), expected: protocol },
  'length and chunks': {
    onData: say(`${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    expected: protocol,
  },
  'negative length': { onData: say(`${ok}Content-Length: -1\r\n\r\n`), expected: protocol },
  'length beyond counting': { onData: say(`${ok}Content-Length: 99999999999999999999999\r\n\r\n`), expected: protocol },
  'chunk beyond counting': { onData: say(`${chunked}fffffffffffffffff\r\n`), expected: protocol },
  'carriage return in a value': { onData: say(`${ok}X-Split: a\rX-Two: b\r\n\r\n`), expected: protocol },
  'line feed alone in the headers': { onData: say(`${ok}X-One: a\nX-Two: b\n\n`), expected: protocol },
  'NUL in a value': { onData: say(`${ok}X-Nul: a\0b\r\n\r\n`), expected: protocol },
  'space before the colon': { onData: say(`${ok}X-Space : a\r\n\r\n`), expected: protocol },
  'upgrade nobody asked for': {
    onData: say('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    expected: protocol,
  },
  'continue nobody asked for': { onData: say('HTTP/1.1 100 Continue\r\n\r\n'), expected: protocol },
  'connection cut before the answer': { onData: (socket) => void socket.destroy(), expected: ['failed:reset'] },
  'connection cut in the body': {
    onData: sayAndEnd(`${ok}Content-Length: 100\r\n\r\nhello`),
    expected: ['failed:reset', ...protocol],
  },
  'plain HTTP where TLS is due': { onData: say(httpResponse('200 OK')), plain: true, expected: ['failed:tls'] },
};

const redirects: Record<string, (environment: Environment) => string[]> = {
  '301': (environment) => [`Location: https://127.0.0.1:${environment.canary.port}/`],
  '302': (environment) => [`Location: http://127.0.0.1:${environment.plainCanary.port}/`],
  '303': (environment) => [`Location: //127.0.0.1:${environment.canary.port}/`],
  '307': (environment) => [`Location: https://localhost:${environment.canary.port}/`],
  '308': (environment) => [`Location: https://[::1]:${environment.canary.port}/`],
  '300': (environment) => [`Location: https://2130706433:${environment.canary.port}/`],
  '200': (environment) => [`Refresh: 0; url=http://127.0.0.1:${environment.plainCanary.port}/`],
  '201': (environment) => [
    `Alt-Svc: h2="127.0.0.1:${environment.canary.port}"`,
    `Location: http://127.0.0.1:${environment.plainCanary.port}/`,
  ],
  '401': (environment) => [`WWW-Authenticate: Basic`, `Location: http://127.0.0.1:${environment.plainCanary.port}/`],
  '305': (environment) => [`Location: http://127.0.0.1:${environment.plainCanary.port}/`],
};

const ask = (environment: Environment, port: number) =>
  environment.send(`https://server.outside.test:${port}/`, { timeoutMs: slowMs, maxBodyBytes });

export const answerVectors: readonly Vector[] = [
  ...Object.entries(attacks).map(([name, attack]) => ({
    name: `answer: ${name}`,
    async run(environment: Environment) {
      const tls = attack.plain ? undefined : environment.certificate;
      const { port } = await environment.receive({ tls, onData: attack.onData, greeting: attack.greeting });
      const outcome = await ask(environment, port);
      if (attack.holds?.(outcome) === false) return `not contained: ${outcome.outcome}`;
      return fault(outcome, attack.expected, attack.withinMs);
    },
  })),
  ...Object.entries(redirects).map(([status, headers]) => ({
    name: `redirect: ${status}`,
    async run(environment: Environment) {
      const onData = say(httpResponse(`${status} Look There`, headers(environment)));
      const { port } = await environment.receive({ tls: environment.certificate, onData });
      return fault(await ask(environment, port), [`answered:${status}`]);
    },
  })),
  {
    name: "answer: the next request's answer, sent ahead",
    async run(environment) {
      const onData = say(httpResponse('200 OK', [], 'first') + httpResponse('200 OK', [], 'smuggled'));
      const { port } = await environment.receive({ tls: environment.certificate, onData });
      await ask(environment, port);
      const second = await ask(environment, port);
      return second.outcome === 'answered' && second.body.toString() === 'smuggled' ? 'taken for an answer' : undefined;
    },
  },
];
