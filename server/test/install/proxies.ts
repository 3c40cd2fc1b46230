// Starts the three proxies from the files in deploy/proxy, as processes of their own. Only names, addresses and the
// paths of certificates are replaced, as docs/operate/proxy.md says.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import type { Certificate } from '../../../sandbox/src/certificates.ts';
import { sendOverHttp1 } from './clients.ts';

export const names = ['Caddy', 'nginx', 'HAProxy'] as const;
export type Name = (typeof names)[number];

export interface Upstream {
  /** The host of BASE_URL. */
  readonly host: string;
  readonly appsDomain: string;
  readonly apiPort: number;
  readonly internalPort: number;
}

export interface RunningProxy {
  readonly port: number;
  /** The port for plain HTTP. */
  readonly plainPort: number;
  /** The authority that has issued the proxy's certificates. */
  readonly ca: string;
}

const fileOf: Readonly<Record<Name, string>> = { Caddy: 'Caddyfile', nginx: 'nginx.conf', HAProxy: 'haproxy.cfg' };
export const readConfiguration = (name: Name): string =>
  readFileSync(fileURLToPath(new URL(`../../../deploy/proxy/${fileOf[name]}`, import.meta.url)), 'utf8');

interface Place extends Upstream, Pick<RunningProxy, 'port' | 'plainPort'> {
  readonly folder: string;
  readonly certificate: Certificate;
  readonly configuration: string;
}

interface Started {
  readonly command: readonly [program: string, ...args: string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /** The file of the authority, if it is the proxy's own. */
  readonly caFile?: string;
}

const prepare: Readonly<Record<Name, (place: Place) => Promise<Started>>> = {
  async Caddy({ folder, configuration, host, apiPort, internalPort, port, plainPort }) {
    const file = join(folder, 'Caddyfile');
    await writeFile(file, configuration);
    const options = ['admin off', 'default_bind 127.0.0.1', 'local_certs', 'skip_install_trust'];
    return {
      command: ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', file],
      environment: {
        PLINTH_HOST: host,
        PLINTH_API: `127.0.0.1:${apiPort}`,
        PLINTH_INTERNAL: `127.0.0.1:${internalPort}`,
        PLINTH_CADDY_OPTIONS: [...options, `http_port ${plainPort}`, `https_port ${port}`].join('\n'),
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
      },
      caFile: join(folder, 'caddy/pki/authorities/local/root.crt'),
    };
  },

  async nginx({ folder, configuration, host, appsDomain, apiPort, port, plainPort, certificate }) {
    const site = replaceAll(configuration, [
      [/^ +listen \[::\]:.*\n/gm, ''],
      [/listen 80;/, `listen 127.0.0.1:${plainPort};`],
      [/listen 443 /, `listen 127.0.0.1:${port} `],
      [/\/etc\/letsencrypt\/live\/plinth\.example\.com\/(fullchain|privkey)/g, `${folder}/$1`],
      [/plinth\.example\.com/g, host],
      [/example-apps\.com/g, appsDomain],
      [/127\.0\.0\.1:8080/, `127.0.0.1:${apiPort}`],
    ]);
    await writeFile(join(folder, 'fullchain.pem'), certificate.cert);
    await writeFile(join(folder, 'privkey.pem'), certificate.key);
    await writeFile(join(folder, 'plinth.conf'), site);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    const main = `daemon off; pid ${folder}/nginx.pid; error_log stderr warn; events {}
      http { access_log off; ${temporary.join(' ')} include ${folder}/plinth.conf; }\n`;
    await writeFile(join(folder, 'nginx.conf'), main);
    return { command: ['/usr/sbin/nginx', '-e', 'stderr', '-c', join(folder, 'nginx.conf')] };
  },

  async HAProxy({ folder, configuration, apiPort, port, plainPort, certificate }) {
    const file = join(folder, 'haproxy.cfg');
    const certificates = join(folder, 'certs');
    await mkdir(certificates);
    await writeFile(join(certificates, 'plinth.pem'), certificate.cert + certificate.key);
    const text = replaceAll(configuration, [
      [/bind :80$/m, `bind 127.0.0.1:${plainPort}`],
      [/bind :443 /, `bind 127.0.0.1:${port} `],
      [/\/etc\/haproxy\/certs\//, `${certificates}/`],
      [/127\.0\.0\.1:8080/, `127.0.0.1:${apiPort}`],
    ]);
    await writeFile(file, text);
    return { command: ['/usr/sbin/haproxy', '-db', '-f', file] };
  },
};

/** Every replacement must find what it replaces. */
function replaceAll(text: string, replacements: readonly (readonly [RegExp, string])[]): string {
  let result = text;
  for (const [pattern, replacement] of replacements) {
    expect(result).toMatch(pattern);
    result = result.replace(pattern, replacement);
  }
  return result;
}

/** Starts a proxy and waits until it passes requests on. It ends after the test file's tests. */
export async function startProxy(
  name: Name,
  upstream: Upstream,
  { ca, certificate }: { readonly ca: string; readonly certificate: Certificate },
  configuration = readConfiguration(name),
): Promise<RunningProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'));
  await chmod(folder, 0o755); // some of them drop their rights
  const [port, plainPort] = [await freePort(), await freePort()];
  const { command, environment, caFile } = await prepare[name]({
    ...upstream,
    configuration,
    folder,
    certificate,
    port,
    plainPort,
  });
  const [program, ...args] = command;
  if (!existsSync(program)) throw new Error(`${program} is missing. Run: apt-get install caddy nginx haproxy`);
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, HOME: folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = collect(child);
  afterAll(async () => {
    await stop(child);
    await rm(folder, { recursive: true, force: true });
  });
  const readCa = () => (caFile === undefined ? ca : readFileSync(caFile, 'utf8'));
  const checkPasses = async () => {
    const { status } = await sendOverHttp1({ port, plainPort, ca: readCa() }, { host: upstream.host, path: '/readyz' });
    if (status !== 200) throw new Error(`${name} answers ${status}`);
  };
  await waitUntil(checkPasses, () => child.exitCode === null, printed);
  return { port, plainPort, ca: readCa() };
}

const pauseMs = 100;

async function waitUntil(
  check: () => Promise<void>,
  isRunning: () => boolean,
  printed: readonly string[],
): Promise<void> {
  const until = performance.now() + 120_000;
  for (;;) {
    const fault = await check().then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (fault === undefined) return;
    if (!isRunning() || performance.now() > until) throw new Error(`${fault}: ${printed.join('')}`);
    await sleep(pauseMs);
  }
}

function collect(child: ChildProcess): string[] {
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => printed.push(String(chunk)));
  return printed;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
