// The console under `plinth dev`. It is built if a source is newer than the build, and then served as in production. With
// `--console`, a server in front of the API serves it from its sources (console/dev-server.ts).
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError, readConfig, setSettings } from '../../config.ts';
import { consoleFolder } from '../../release.ts';

const sources = fileURLToPath(new URL('../../../../console/', import.meta.url));
const builder = join(sources, 'build-if-stale.ts');

/** If the build fails, what was built before is served. */
export async function buildConsole({ CONSOLE }: Pick<Config, 'CONSOLE'>): Promise<void> {
  if (CONSOLE !== 'on' || !existsSync(builder)) return;
  const [code] = await once(fork(builder), 'exit');
  if (code !== 0)
    console.log('console: not built, because of the error above. Fix the error and restart `npm run dev`.');
}

/** Whether the API serves the console. */
export const isConsoleServed = ({ CONSOLE }: Pick<Config, 'CONSOLE'>): boolean =>
  CONSOLE === 'on' && existsSync(join(consoleFolder, 'files.json'));

export interface ConsoleServer {
  /** Resolves once the server listens, in front of the API at this address. */
  start(apiUrl: string): Promise<void>;
}

/** Moves the API to another port, because the console's server gets that of the settings. */
export async function placeConsoleServer(): Promise<ConsoleServer> {
  const { HOST: host, PORT: port, BASE_URL } = readConfig();
  setSettings({ CONSOLE: 'on', BASE_URL, PORT: String(await findFreePort()) });
  return {
    async start(apiUrl) {
      if (!isConsoleServed(readConfig())) throw new ConfigError('The console could not be built: see above.');
      const api = new URL(apiUrl);
      const place = {
        host,
        port,
        ownHost: new URL(BASE_URL).host,
        api: { hostname: api.hostname, port: Number(api.port) },
      };
      const child = fork(join(sources, 'dev-server.ts'), [JSON.stringify(place)]);
      const exited = once(child, 'exit').then(() => 'exited');
      const outcome = await Promise.race([once(child, 'message'), exited]);
      if (outcome === 'exited') throw new ConfigError('The server of the console did not start: see above.');
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
