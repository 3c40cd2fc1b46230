// The packed client in Node, and the client in Chromium on a page of the installation, against the real app. NODES names
// other versions of Node: `npm run bench -- client` installs the oldest one that is supported.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startChromium } from '../../../server/test/e2e/browser.ts';
import { startWorld } from '../../../server/test/support/world.ts';
import { installClient } from './installed.ts';

// Cookies are accepted from pages of BASE_URL only, which is known before the server has its port.
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const world = await startWorld({ environment: { BASE_URL: origin } });
const forwarder = createServer((socket) => {
  const server = connect(Number(new URL(world.url).port), '127.0.0.1');
  pipeline(socket, server, socket).catch(() => undefined); // either side may close a connection
}).listen(port, '127.0.0.1');
afterAll(() => void forwarder.close());
const ada = await world.person('ada@example.com');
const workspace = await world.workspace(ada, 'enterprise');
const token = await world.token(ada, workspace);
const { id: app_id } = await world.appOf(ada, workspace);
await world.appOf(ada, workspace);
const folder = await mkdtemp(join(tmpdir(), 'runtimes-'));
afterAll(() => rm(folder, { recursive: true }));

const expected = {
  email: 'ada@example.com',
  hasPages: true,
  isSame: true,
  isReplayed: true,
  code: 'nothing_to_publish',
  events: ['ready'],
  whole: true,
  delivery: ['d1', 'entity.created'],
};

async function bundleProgram(input: string, format: 'esm' | 'iife'): Promise<string> {
  const bundle = await rolldown({ input, external: [/^@plinth\//], platform: 'neutral' });
  const { output } = await bundle.generate({ format, ...(format === 'iife' && { name: 'program' }) });
  await bundle.close();
  return output[0].code;
}

await installClient(folder, ['runtime-program.ts']);
const program = await bundleProgram(join(folder, 'runtime-program.ts'), 'esm');
const start = `console.log(JSON.stringify(await useClient(${JSON.stringify({ url: world.url, token })}, '${app_id}')));`;
await writeFile(join(folder, 'program.js'), `${program}\n${start}\n`);

it.each([process.execPath, ...(process.env.NODES?.split(',') ?? [])])('the packed client works in %s', async (node) => {
  const { stdout } = await promisify(execFile)(node, [join(folder, 'program.js')]);
  expect(JSON.parse(stdout)).toEqual(expected);
});

it('the client works in Chromium with the cookie of the signed-in person', async () => {
  const { newContext } = await startChromium();
  const context = await newContext();
  const [name = '', value = ''] = (await world.session(ada)).cookie.split('=');
  await context.addCookies([{ name, value, url: origin }]);
  const page = await context.newPage();
  await page.goto(`${origin}/device`);
  const source = await bundleProgram(fileURLToPath(new URL('runtime-program.ts', import.meta.url)), 'iife');
  const call = `${source}; program.useClient({ session: true, workspaceId: '${workspace}' }, '${app_id}')`;
  expect(await page.evaluate(call)).toEqual(expected);
  await context.close();
});
