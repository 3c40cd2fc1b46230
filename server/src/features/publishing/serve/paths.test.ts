// Tests that addresses reach only published files of their own app. Requests are sent as raw bytes over a socket.
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { publishFiles } from '../../../../test/support/published.ts';
import { startWorld } from '../../../../test/support/world.ts';

const folder = await mkdtemp(join(tmpdir(), 'paths-'));
await writeFile(join(folder, 'secret.txt'), 'HIDDEN of the storage');
await symlink(join(folder, 'secret.txt'), join(folder, 'link'));
const world = await startWorld({
  environment: { STORAGE_FOLDER: folder, APPS_DOMAIN: 'apps.example', BASE_URL: 'https://plinth.example' },
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const owner = await world.person('ann@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const other = await world.appOf(owner, workspace);
await publishFiles(
  world,
  app,
  {
    'dist/index.html': 'INDEX',
    'dist/a.txt': 'A',
    'dist/sub/b.txt': 'B',
    'dist/%2e%2e/c.txt': 'LITERAL',
    'dist/..dots.txt': 'HIDDEN dots',
    'dist/.env': 'HIDDEN env',
    'dist/.svn/config': 'HIDDEN svn',
    'dist/_plinth/x.js': 'HIDDEN platform',
    'src/main.ts': 'HIDDEN source',
    'functions/pay.ts': 'HIDDEN function',
    'package.json': 'HIDDEN package',
    'public/old.txt': 'HIDDEN public',
  },
  token,
);
await publishFiles(world, other, { 'dist/index.html': 'HIDDEN other', 'dist/only.txt': 'HIDDEN other' }, token);
const blob = await world.db
  .selectFrom('app_blobs')
  .where('app_id', '=', other.id)
  .selectAll()
  .executeTakeFirstOrThrow();

const host = `${app.slug}.apps.example`;

/** Sends a request line and headers verbatim. Returns the status and the response text. */
function send(target: string | Buffer, hostHeaders = `Host: ${host}`): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', reject);
  socket.on('close', () => {
    const text = Buffer.concat(chunks).toString('latin1');
    resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text });
  });
  socket.write(
    Buffer.concat([
      Buffer.from('GET '),
      Buffer.from(target),
      Buffer.from(` HTTP/1.1\r\n${hostHeaders}\r\nConnection: close\r\n\r\n`),
    ]),
  );
  return promise;
}

const isPlace = 'INDEX'; // a path without an extension that matches no file is a route within the app

const vectors: readonly (readonly [target: string | Buffer, expected: number | string])[] = [
  // path traversal
  ['/../a.txt', 404],
  ['/sub/../a.txt', 404],
  ['/sub/../../src/main.ts', 404],
  ['/./a.txt', 404],
  ['/..', 404],
  ['/.', 404],
  ['/../', 404],
  ['/..;/a.txt', 404],
  ['/....//a.txt', 404],
  ['/%2e%2e/a.txt', 404],
  ['/%2E%2E/src/main.ts', 404],
  ['/.%2e/a.txt', 404],
  ['/%2e/a.txt', 404],
  ['/sub/%2e%2e/a.txt', 404],
  ['/%252e%252e/a.txt', 404],
  ['/%252e%252e/c.txt', 'LITERAL'], // decoded only once; there is a file with exactly this name
  ['/..dots.txt', 404], // hidden
  ['/%c0%ae%c0%ae/a.txt', 404], // overlong UTF-8
  ['/%e0%80%ae%e0%80%ae/a.txt', 404],
  ['/%uff0e%uff0e/a.txt', 404],
  ['/%ef%bc%8e%ef%bc%8e/a.txt', 404], // full-width dots are different characters
  // separators
  ['/sub%2fb.txt', 404],
  ['/sub%2Fb.txt', 404],
  ['/..%2fsrc%2fmain.ts', 404],
  ['/sub%5cb.txt', 404],
  ['/sub\\b.txt', 404],
  ['/..\\a.txt', 404],
  ['/%5c..%5ca.txt', 404],
  ['/sub%252fb.txt', 404],
  ['//a.txt', 404],
  ['/sub//b.txt', 404],
  ['//evil.example/a.txt', 404],
  ['/sub%c0%afb.txt', 404],
  ['/sub%e2%88%95b.txt', 404], // a division slash
  // control characters and invalid text
  ['/a.txt%00', 404],
  ['/a.txt%00.html', 404],
  ['/%00', 404],
  ['/a.txt%0a', 404],
  ['/a.txt%0d%0aSet-Cookie:%20a=b', 404],
  ['/a.txt%7f', 404],
  ['/a.txt%c2%85', 404],
  ['/%ff', 404],
  ['/%', 404],
  ['/%zz', 404],
  ['/%2', 404],
  [Buffer.from([0x2f, 0xff, 0xfe]), 404],
  [Buffer.from('/ü.txt', 'utf8'), 404],
  // other names of the same file
  ['/A.TXT', 404],
  ['/a.txt.', 404],
  ['/a.txt%20', 404],
  ['/a.txt/', 404],
  ['/a.txt::$DATA', 404],
  ['/a.txt;x=1', 404],
  ['/a.txt~', 404],
  ['/SUB/b.txt', 404],
  ['/dist/a.txt', 404],
  ['/a.txt?/../../src/main.ts', 'A'],
  ['/a.txt#x', 404],
  // unpublished files
  ['/.env', 404],
  ['/.svn/config', 404],
  ['/.git/config', 404],
  ['/.git/HEAD', 404],
  ['/src/main.ts', 404],
  ['/functions/pay.ts', 404],
  ['/package.json', 404],
  ['/public/old.txt', 404],
  ['/old.txt', 404],
  ['/_plinth/x.js', 404],
  ['/_plinth', 404],
  ['/_plinth/', 404],
  ['/%5fplinth/x.js', 404],
  ['/only.txt', 404],
  // paths of the storage, the server and JavaScript
  ['/etc/passwd', isPlace],
  ['/../../../../etc/passwd', 404],
  ['/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 404],
  ['/secret.txt', 404],
  ['/link', isPlace],
  [`/apps/${other.id}/${blob.id}`, isPlace],
  [`/${blob.id}`, isPlace],
  [`/${blob.sha256}`, isPlace],
  ['/__proto__', isPlace],
  ['/constructor', isPlace],
  ['/__proto__/toString', isPlace],
  ['/hasOwnProperty', isPlace],
  // path length
  [`/${'a'.repeat(9_000)}`, 404],
  [`/${'a/'.repeat(4_000)}`, isPlace],
  [`/${'%61'.repeat(3_000)}`, 404],
  [`/${'../'.repeat(1_000)}src/main.ts`, 404],
  // other request targets
  ['http:///a.txt', 404],
  ['ftp://plinth.example/api/apps', 404],
  ['*', 404],
  ['a.txt', 404],
];

describe('an address', () => {
  it.each(vectors)('%s', async (target, expected) => {
    const { status, text } = await send(target);
    expect(text).not.toMatch(/HIDDEN|root:|set-cookie/i);
    const [, body = ''] = text.split('\r\n\r\n');
    // The parser rejects targets that are not valid HTTP.
    if (typeof expected === 'number') expect([400, expected]).toContain(status);
    else expect([status, body]).toEqual([200, expected]);
  });

  it('there are at least 40 of them', () => expect(vectors.length).toBeGreaterThanOrEqual(40));
});

describe('a host', () => {
  it.each([
    `Host: ${host}:80x`,
    `Host: ${host} x`,
    `Host: ${host}, plinth.example`,
    `Host: x@${host}`,
    `Host: ${host}/`,
    `Host: ${host}%2e`,
    `Host: plinth.example\r\nHost: ${host}`,
    `Host: ${host}\r\nHOST: plinth.example`,
    `Host: ${host}\r\nHost: ${host}`,
  ])('that is malformed or sent twice is refused: %j', async (headers) => {
    for (const target of ['/a.txt', '/healthz', '/api/apps', '/docs', `http://${host}:80x/healthz`]) {
      const got = await send(target, target.startsWith('/') ? headers : undefined);
      expect([target, got.status]).toEqual([target, 400]);
      expect(got.text).toContain('malformed_request');
    }
  });

  it.each([
    ['of an app, and the Host header of the API', `http://${host}/a.txt`, 'plinth.example', 'A'],
    ['of an app in capitals, with a port', `HTTP://${host.toUpperCase()}:80/a.txt`, 'plinth.example', 'A'],
    ['of an app, without a path', `http://${host}`, 'plinth.example', 'INDEX'],
    ['of an app, with a query only', `https://${host}?a=b`, 'plinth.example', 'INDEX'],
    ['of an app, for a path of the API', `http://${host}/healthz`, 'plinth.example', 'INDEX'],
    ['of the API, and the Host header of an app', 'http://plinth.example/healthz', host, 'ok'],
  ])('in the target counts: one %s', async (_which, target, header, expected) => {
    const { status, text } = await send(target, `Host: ${header}`);
    expect([status, text.split('\r\n\r\n')[1]]).toEqual([200, expect.stringContaining(expected)]);
  });
});
