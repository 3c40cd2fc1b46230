// Tests that programs for files of strangers can't reach the process that starts them.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { firstRepositoryId, forkUnprivileged, listGaps, nobodyId, wrapAsUser } from './unprivileged.ts';

/** What a decoder that was taken over would try. */
const program = `
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
const attempt = (read) => { try { return read(); } catch (error) { return error.code; } };
process.once('message', async ({ file, port }) => {
  const socket = connect(port, '127.0.0.1');
  const network = await new Promise((resolve) => {
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error) => resolve(error.code));
  });
  const status = readFileSync('/proc/self/status', 'utf8');
  process.send({
    ids: [process.getuid(), process.getgid(), process.getgroups()],
    parent: attempt(() => readFileSync('/proc/' + process.ppid + '/environ', 'utf8').length),
    file: attempt(() => readFileSync(file, 'utf8')),
    root: attempt(() => process.setuid(0) ?? 'root'),
    network,
    hasNoNewPrivileges: /NoNewPrivs:\\t1/.test(status),
    capabilities: /CapEff:\\t(\\w+)/.exec(status)[1],
    environment: readFileSync('/proc/self/environ', 'utf8').replace(/NODE_CHANNEL_\\w+=\\w+\\0/g, ''),
  }, () => process.exit());
});`;

const isRoot = process.getuid?.() === 0;

describe('a program for files of strangers', () => {
  it.runIf(isRoot)('reads neither its parent nor its files, has no network, and gains no privileges', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'unprivileged-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o755);
    const [module, file] = [join(folder, 'program.mjs'), join(folder, 'secret')];
    writeFileSync(module, program);
    writeFileSync(file, 'master key', { mode: 0o600 });
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const child = forkUnprivileged(pathToFileURL(module), [], {
      env: {},
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.send({ file, port });
    const [found] = await once(child, 'message');
    expect(found).toEqual({
      ids: [nobodyId, nobodyId, [nobodyId]],
      parent: 'EACCES',
      file: 'EACCES',
      root: 'EPERM',
      network: expect.stringMatching(/^E(NETUNREACH|CONNREFUSED|ADDRNOTAVAIL)$/),
      hasNoNewPrivileges: true,
      capabilities: '0000000000000000',
      environment: '',
    });
  });
});

describe('what does not keep files of strangers away', () => {
  it.runIf(isRoot)('is nothing on this machine', () => {
    expect(listGaps(tmpdir())).toEqual([]);
  });

  it.runIf(isRoot)('is said if the tools are missing, and if this process is not root', () => {
    const script = `import { listGaps } from ${JSON.stringify(new URL('unprivileged.ts', import.meta.url).href)};
      console.log(JSON.stringify(listGaps('/tmp/new')));`;
    const list = (...wrapper: string[]): string[] => {
      const [program = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', script];
      const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: {} });
      return JSON.parse(stdout || `["${stderr}"]`);
    };
    // In a mount namespace of its own, a program that can't be run hides the tool.
    const hide = (tool: string) => [
      'unshare',
      '--mount',
      'sh',
      '-c',
      `mount --bind /dev/null /usr/bin/${tool}; exec "$@"`,
      'sh',
    ];
    expect(list(...hide('setpriv'))).toEqual([
      'Logos are decoded and code is scanned by root: setpriv is missing or not permitted. Install util-linux.',
      'Repositories are read by root: setpriv is missing or not permitted. Install util-linux.',
    ]);
    expect(list(...hide('unshare'))).toEqual([
      'Logos are decoded and code is scanned with access to the network: unshare is missing or not permitted.',
      'Repositories are read with access to the network: unshare is missing or not permitted.',
    ]);
    const closed = mkdtempSync(join(tmpdir(), 'unprivileged-')); // only its owner may enter it
    onTestFinished(() => rmSync(closed, { recursive: true }));
    expect(listGaps(join(closed, 'sessions'))).toEqual([expect.stringContaining('not every user may enter')]);
    expect(list(...wrapAsUser(firstRepositoryId, { hasNetwork: true }))).toEqual([
      'Logos, code and repositories of strangers are read as the user of this process, who is not root.',
    ]);
  });
});
