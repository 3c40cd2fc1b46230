// The samples of the reference page: each form sends the request of the document's example, and the programs compile.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildCodeSamples, type CodeSample } from '../../../server/src/openapi/code-samples.ts';
import { run } from '../../cli/src/run.ts';
import { Plinth } from '../src/index.ts';
import { compile, installClient } from './installed.ts';

const document = JSON.parse(readFileSync(new URL('../../../docs/generated/openapi.json', import.meta.url), 'utf8'));
const samples = Object.entries(buildCodeSamples({ ...document, servers: [{ url: 'https://plinth.example' }] }));

interface Sent {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly body: unknown;
}

/** Notes the requests that reach it, and refuses them. */
let sent: Sent[] = [];
const server = createServer(async (request, response) => {
  const body = await text(request);
  sent.push({ method: request.method, path: request.url, body: body === '' ? undefined : JSON.parse(body) });
  response.writeHead(403, { 'content-type': 'application/problem+json' });
  response.end('{"status": 403, "code": "role_insufficient", "detail": "x", "request_id": "r"}');
}).listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const configuration = await mkdtemp(join(tmpdir(), 'plinthctl-'));
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(configuration, { recursive: true });
});
beforeAll(() => {
  vi.stubEnv('PLINTH_URL', url);
  vi.stubEnv('PLINTH_TOKEN', 'plp_00');
  vi.stubEnv('XDG_CONFIG_HOME', configuration);
  process.setMaxListeners(0); // each command listens for Ctrl+C
});

const sourceOf = (all: readonly CodeSample[], label: string): string =>
  all.find((each) => each.label === label)?.source ?? '';

/** The arguments of the commands, as a shell reads them. */
function parseCommands(sources: readonly string[]): string[][] {
  const script = `plinthctl() { printf '%s\\0' $# "$@"; }; curl() { plinthctl "$@"; }\n${sources.join('\n')}`;
  const output = execFileSync('bash', ['-c', script], { env: { TOKEN: 'plp_00' }, maxBuffer: 2 ** 24 }).toString();
  const words = output.split('\0').slice(0, -1);
  const parsed: string[][] = [];
  while (words.length > 0) parsed.push(words.splice(0, Number(words.shift())));
  return parsed;
}

const commands = parseCommands(samples.map(([, all]) => sourceOf(all, 'plinthctl')));
const requests = parseCommands(samples.map(([, all]) => sourceOf(all, 'curl')));

/** The request that curl would send. */
function readCurl(args: readonly string[]): Sent & { readonly isAuthorised: boolean } {
  const after = (flag: string) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
  const body = after('-d');
  const address = new URL(args.find((each) => each.startsWith('http')) ?? '');
  return {
    method: after('-X') ?? (body === undefined ? 'GET' : 'POST'),
    path: `${address.pathname}${address.search}`,
    body: body === undefined ? undefined : JSON.parse(body),
    isAuthorised: args.includes('Authorization: Bearer plp_00'),
  };
}

async function runProgram(source: string): Promise<void> {
  const [, program = ''] = source.split('const plinth = new Plinth();\n');
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (plinth: Plinth) => Promise<void>;
  await new AsyncFunction('plinth', program)(new Plinth({ maxRetries: 0 })).catch(() => undefined);
}

async function runCommand(args: readonly string[]): Promise<void> {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  await run([...args, '--yes'], '0');
  write.mockRestore();
}

const withoutKeyOrder = ({ method, path = '', body }: Sent) => {
  const { pathname, searchParams } = new URL(path, url);
  return { method, pathname, query: Object.fromEntries(searchParams), body };
};

describe('the samples of the reference page', () => {
  it('are there for more than 260 operations', () => {
    expect(samples.length).toBeGreaterThan(260);
    expect([commands.length, requests.length]).toEqual([samples.length, samples.length]);
  });

  it.each(samples.map(([name], index) => [name, index] as const))(
    '%s: all forms send the same request',
    async (_, index) => {
      const [, all] = samples[index] ?? ['', []];
      const expected = readCurl(requests[index] ?? []);
      sent = [];
      await runProgram(sourceOf(all, 'Client'));
      await runCommand(commands[index] ?? []);
      const { isAuthorised: _authorised, ...request } = expected;
      expect(sent.map(withoutKeyOrder)).toEqual([withoutKeyOrder(request), withoutKeyOrder(request)]);
    },
  );

  it('compile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'samples-'));
    await installClient(folder, []);
    const functions = samples.map(([name, all]) => {
      const [, program = ''] = sourceOf(all, 'Client').split('const plinth = new Plinth();\n');
      return `export async function ${name}() {\n${program}\n}\n`;
    });
    const source = `import { Plinth } from '@plinth/client';\nconst plinth = new Plinth();\n${functions.join('')}`;
    await writeFile(join(folder, 'samples.ts'), source);
    const said = await compile(folder, 'TypeScript 7', 'nodenext', ['samples.ts']);
    await rm(folder, { recursive: true });
    expect(said).toBe('');
  });
});
