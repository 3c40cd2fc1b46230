// A browser's process: starting Chromium so that its page can do no harm, and making sure that it has exited.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { removeAbandoned } from '../../kit/abandoned.ts';
import { type Connection, connect } from './connection.ts';
import type { PageServer } from './page-server.ts';

export interface ChromiumSettings {
  readonly executable: string;
  /** Starts Chromium without its sandbox, for machines that do not support it. */
  readonly noSandbox: boolean;
}

export interface Chromium {
  readonly connection: Connection;
  /** Kills all of the browser's processes, and removes the data it stored. */
  stop(): Promise<void>;
}

/** A Chromium process that uses the DevTools protocol over two pipes, and exits when they close. */
export interface ChromiumProcess {
  readonly child: ChildProcess;
  readonly toBrowser: Writable;
  readonly fromBrowser: Readable;
}

/** The message is for the operator. */
export class NotStarted extends Error {}

const startMs = 15_000;
const lastWordsMs = 200;
const maxErrorText = 2_000;
const profilePrefix = 'plinth-browser-';
const nobody = 65_534;
/** The limit for each process. If a page exceeds it, the page gets an error or crashes, without affecting others. */
const memoryBytes = 1024 ** 3;
const fileBytes = 256 * 1024 ** 2;

/** Removes profiles that crashed processes left behind more than an hour ago. No browser runs that long. */
export const removeOldProfiles = (prefix: string): void =>
  void removeAbandoned(tmpdir(), { prefix, afterMs: 60 * 60 * 1000 });

/** The browser exits when its pipe closes, even if this process is killed. */
export async function startChromium(
  settings: ChromiumSettings,
  server: PageServer,
  signal: AbortSignal,
): Promise<Chromium> {
  const user = chooseUser(settings);
  removeOldProfiles(profilePrefix);
  const profile = await mkdtemp(join(tmpdir(), profilePrefix));
  await giveFolder(profile, user);
  const { child, toBrowser, fromBrowser } = spawnChromium(settings, user, profile, listFlags(server));
  const stop = async () => {
    await killGroup(child);
    await removeProfile(profile);
  };
  try {
    const connection = connect(toBrowser, fromBrowser);
    await waitUntilStarted(child, connection.send('Browser.getVersion'), signal);
    return { connection, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** If the profile can't be removed now, `removeOldProfiles` removes it later. */
export const removeProfile = (profile: string): Promise<void> =>
  rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => {});

export type ProcessUser = 'ourselves' | 'nobody';

/** Chromium's sandbox does not work for root. */
export function chooseUser({ noSandbox }: ChromiumSettings): ProcessUser {
  if (process.getuid?.() !== 0) return 'ourselves';
  if (findTool('setpriv') !== undefined) return 'nobody';
  if (noSandbox) return 'ourselves';
  throw new NotStarted(
    "Chromium can't run as root. Run Plinth as another user, install setpriv (util-linux), or set BROWSER_NO_SANDBOX=true",
  );
}

export async function giveFolder(folder: string, user: ProcessUser): Promise<void> {
  if (user === 'nobody') await chown(folder, nobody, nobody);
}

/** `profile` is an empty folder that the user owns. `flags` are the flags that differ between our kinds of browser. */
export function spawnChromium(
  settings: ChromiumSettings,
  user: ProcessUser,
  profile: string,
  flags: readonly string[],
): ChromiumProcess {
  const command = [...limitProcess(user), settings.executable, ...listCommonFlags(settings, profile), ...flags];
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true, // its own process group, so it can be killed as a whole
    cwd: profile,
    // Our own environment contains the service's keys and passwords, so it is not passed on.
    env: { HOME: profile, TMPDIR: profile, PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
  });
  return { child, toBrowser: child.stdio[3] as Writable, fromBrowser: child.stdio[4] as Readable };
}

/** The commands that precede Chromium. Each starts the next. */
function limitProcess(user: ProcessUser): string[] {
  const [setpriv, prlimit] = [findTool('setpriv'), findTool('prlimit')];
  return [
    ...(setpriv !== undefined && user === 'nobody'
      ? [setpriv, `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--no-new-privs', '--']
      : []),
    ...(prlimit !== undefined ? [prlimit, `--data=${memoryBytes}`, `--fsize=${fileBytes}`, '--core=0', '--'] : []),
  ];
}

const findTool = (name: string): string | undefined =>
  ['/usr/bin', '/bin'].map((folder) => join(folder, name)).find(existsSync);

/**
 * The two suggestion pages below the address bar are loaded for every window but never shown. They account for half of
 * the CPU time at start-up.
 */
const suggestionPages = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'];

/** A single flag, because Chromium uses only the last one with this name. */
export const disabledFeaturesFlag = `--disable-features=${[
  'HttpsUpgrades',
  'OptimizationHints',
  'MediaRouter',
  'DialMediaRouteProvider',
  'Translate',
  ...suggestionPages,
].join()}`;

const listCommonFlags = ({ noSandbox }: ChromiumSettings, profile: string): string[] => [
  '--headless',
  '--remote-debugging-pipe',
  `--user-data-dir=${profile}`,
  disabledFeaturesFlag,
  // Turns off features that are useful only to people.
  '--no-first-run',
  '--no-default-browser-check',
  '--no-pings',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-dev-shm-usage',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-gpu',
  '--disable-sync',
  '--metrics-recording-only',
  '--mute-audio',
  '--password-store=basic',
  ...(noSandbox ? ['--no-sandbox'] : []),
];

/** Sends all connections through our proxy, including those to loopback. WebRTC uses no other connections. */
export const listProxyFlags = (port: number): string[] => [
  `--proxy-server=http://127.0.0.1:${port}`,
  '--proxy-bypass-list=<-loopback>',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
];

const listFlags = ({ host, port }: PageServer): string[] => [
  ...listProxyFlags(port),
  // Makes the page behave like a published page, which uses https.
  `--unsafely-treat-insecure-origin-as-secure=http://${host}`,
  '--renderer-process-limit=4',
  '--block-new-web-contents',
  'about:blank',
];

/** `answered` is the reply to the first command. If it is rejected, the reason is taken from the browser's exit. */
export async function waitUntilStarted<T>(child: ChildProcess, answered: Promise<T>, signal: AbortSignal): Promise<T> {
  let errorText = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(0, maxErrorText);
  });
  const { promise: started, resolve, reject } = Promise.withResolvers<T>();
  const fail = (reason: string) => reject(new NotStarted(`${reason}. ${errorText}`.trim()));
  // The last output may arrive after the process has exited, so this waits a moment.
  child.once('exit', (code, killedBy) => setTimeout(fail, lastWordsMs, `Chromium exited (${code ?? killedBy})`));
  child.on('error', (error) => fail(`Chromium could not be run: ${error.message}`));
  const timer = setTimeout(() => fail('Chromium did not respond'), startMs);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  answered.then(resolve, () => {}); // if the browser has exited, a handler above gives the reason
  return await started.finally(() => clearTimeout(timer));
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return; // it never started
  const exited = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit');
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has already exited.
  }
  await exited;
}
