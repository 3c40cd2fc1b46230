// Attacks through requests and the environment: headers and paths that would split the request, another host's
// certificates, proxies in the environment, and other owners' connections.
import type { TlsOptions } from 'node:tls';
import { makeAuthority } from '../../sandbox/src/certificates.ts';
import { httpResponse } from '../../sandbox/src/raw-server.ts';
import { type Environment, fault, type Vector } from './environment.ts';

const answers = (environment: Environment, tls: TlsOptions = {}, headers: string[] = []) =>
  environment.receive({
    tls: { ...environment.certificate, ...tls },
    onData: (socket) => void socket.write(httpResponse('200 OK', headers)),
  });

const headers: readonly Record<string, string>[] = [
  { 'X-Split': 'a\r\nX-Injected: b' },
  { 'X-Split': 'a\nX-Injected: b' },
  { 'X-Split': 'a\rX-Injected: b' },
  { 'X-Nul': 'a\0b' },
  { 'X-Wide': '\u560a\u560d' },
  { 'X-Name\r\nX-Injected': 'a' },
  { 'X-Name: b': 'a' },
  { '': 'a' },
  { Host: '127.0.0.1' },
  { 'Transfer-Encoding': 'chunked' },
  { 'Content-Length': '0' },
  { Connection: 'Upgrade' },
  { Upgrade: 'h2c' },
  { Expect: '100-continue' },
];

export const requestVectors: readonly Vector[] = [
  ...headers.map((sent) => ({
    name: `header: ${JSON.stringify(sent)}`,
    async run(environment: Environment) {
      const server = await answers(environment);
      const outcome = await environment.send(`https://server.outside.test:${server.port}/`, { headers: sent });
      return fault(outcome, ['refused:header']) ?? (server.connections === 0 ? undefined : 'connected all the same');
    },
  })),
  ...[
    '/%0d%0aX-Injected:%20b',
    '/a?b=%0D%0AX-Injected:%20c',
    '/\u560d\u560aX-Injected:b',
    '/a b'.replace(' ', '%20'),
  ].map((path) => ({
    name: `path: ${path}`,
    async run(environment: Environment) {
      const server = await answers(environment);
      const outcome = await environment.send(`https://server.outside.test:${server.port}${path}`);
      const split = server.requests.join('').includes('\nX-Injected');
      return fault(outcome, ['answered:200']) ?? (split ? 'the request was split' : undefined);
    },
  })),
];

async function unsent(environment: Environment, tls: TlsOptions, host = 'server.outside.test', kinds = ['failed:tls']) {
  const server = await answers(environment, tls);
  const outcome = await environment.send(`https://${host}:${server.port}/`);
  return fault(outcome, kinds) ?? (server.requests.length === 0 ? undefined : 'sent all the same');
}

export const surroundingVectors: readonly Vector[] = [
  {
    name: 'certificate: of an unknown authority',
    async run(environment) {
      const other = await makeAuthority();
      const certificate = await other.issue('DNS:*.outside.test');
      await other.close();
      return unsent(environment, certificate);
    },
  },
  { name: 'certificate: for another name', run: (environment) => unsent(environment, {}, 'server.elsewhere.test') },
  {
    name: 'certificate: for another name, which begins like an address',
    run: (environment) => unsent(environment, {}, '127.20.0.1.outside.invalid'),
  },
  {
    name: 'certificate: check turned off by the environment',
    run: (environment) =>
      withEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, () => unsent(environment, {}, 'server.elsewhere.test')),
  },
  {
    name: 'TLS 1.1 at most',
    run: (environment) =>
      unsent(environment, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  },
  { name: 'HTTP/2 or nothing', run: (environment) => unsent(environment, { ALPNProtocols: ['h2'] }) },
  {
    name: 'proxy: named by the environment',
    async run(environment) {
      const proxy = `http://127.0.0.1:${environment.plainCanary.port}`;
      const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
      const set = { ...Object.fromEntries(variables.map((name) => [name, proxy])), NODE_USE_ENV_PROXY: '1' };
      const server = await answers(environment);
      const url = `https://server.outside.test:${server.port}/`;
      return withEnvironment(set, async () =>
        fault(await environment.send(url, {}, environment.client('127.20.0.0/16')), ['answered:200']),
      );
    },
  },
  {
    name: 'owners: a connection of another is not used',
    async run(environment) {
      const server = await answers(environment, {}, ['Keep-Alive: timeout=60']);
      const url = `https://server.outside.test:${server.port}/`;
      for (const owner of ['one', 'two', 'one', 'two']) await environment.send(url, { owner });
      return server.connections === 2 ? undefined : `${server.connections} connections for 2 owners`;
    },
  },
  {
    name: 'hosts: a connection for another is not used',
    async run(environment) {
      const server = await answers(environment, {}, ['Keep-Alive: timeout=60']);
      for (const host of ['one', 'two']) await environment.send(`https://${host}.outside.test:${server.port}/`);
      return server.connections === 2 ? undefined : `${server.connections} connections for 2 hosts`;
    },
  },
];

/** Must not run concurrently with other attacks. */
async function withEnvironment<Value>(set: Record<string, string>, run: () => Promise<Value>): Promise<Value> {
  const before = new Map(Object.keys(set).map((name) => [name, process.env[name]]));
  Object.assign(process.env, set);
  try {
    return await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
