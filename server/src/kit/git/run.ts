// Runs git, with fixed arguments, an environment without our variables, settings that prevent a repository from
// running or contacting anything, and limits on time, memory, file size and output. If this process runs as root, git
// runs as the user that owns the repository, and without network unless it needs it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { wrapAsUser } from '../unprivileged.ts';

export interface GitOptions {
  /** Written to git's standard input. */
  readonly input?: Buffer | string | Readable;
  /**
   * Settings in addition to the fixed ones, such as `http.extraHeader`. They are passed in the environment, so other
   * processes can't see them.
   */
  readonly config?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Output beyond this size is discarded, and git is stopped. Default: 16 MiB. */
  readonly maxOutputBytes?: number;
  /** Git is stopped once it has written this many records. `end` is the byte that ends a record. */
  readonly maxRecords?: { readonly end: number; readonly count: number };
  /** The maximum size of each file that git writes. Default: 4 GiB. */
  readonly maxFileBytes?: number;
  /** Called with each chunk of standard output, which is then discarded. */
  readonly onOutput?: (chunk: Buffer) => void | Promise<void>;
  /** Whether git may use the network (http and https). */
  readonly network?: boolean;
}

export interface GitResult {
  /** `cut` means that the output exceeded the limit. */
  readonly end: 'exited' | 'cut' | 'timed_out' | 'stopped';
  /** Null if git was killed. */
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Thrown when git fails unexpectedly. */
export class GitError extends Error {
  readonly result: GitResult;

  constructor(command: string, result: GitResult) {
    super(`git ${command} ${result.end === 'exited' ? `ended with ${result.status}` : result.end}: ${result.stderr}`);
    this.result = result;
  }
}

const searchPath = '/usr/local/bin:/usr/bin:/bin';
const defaultTimeoutMs = 60_000;
const defaultOutputBytes = 16 * 1024 * 1024;
const defaultFileBytes = 4 * 1024 ** 3;
/** The limit per process. A pack of a few KB can describe objects of many GB. */
const memoryBytes = 2 * 1024 ** 3;
const maxErrorBytes = 16 * 1024;

/** Overrides the repository's settings, so nothing in it is run and only the hosts that we name are contacted. */
const fixedConfig: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.sshCommand': '/bin/false',
  'core.askPass': '/bin/false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'core.bigFileThreshold': '32m',
  'core.packedGitWindowSize': '64m',
  'core.packedGitLimit': '512m',
  'core.commitGraph': 'false',
  // The repository is only a copy. It can be fetched again after a power failure.
  'core.fsync': 'none',
  'credential.helper': '',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'pack.threads': '1',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'push.recurseSubmodules': 'no',
  'push.gpgSign': 'false',
  'commit.gpgSign': 'false',
  // Stores even small fetches as a checked pack instead of loose objects.
  'transfer.unpackLimit': '1',
  'transfer.fsckObjects': 'true',
  'fetch.fsckObjects': 'true',
  'receive.fsckObjects': 'true',
  // Old, harmless faults that occur in many repositories' histories.
  'fetch.fsck.zeroPaddedFilemode': 'warn',
  'fetch.fsck.missingSpaceBeforeDate': 'warn',
  'fetch.fsck.missingSpaceBeforeEmail': 'warn',
  'fetch.fsck.badTimezone': 'warn',
  'protocol.allow': 'never',
  'http.followRedirects': 'false',
  'http.sslVerify': 'true',
  'http.proxy': '',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '30',
};

const networkConfig: Readonly<Record<string, string>> = {
  'protocol.http.allow': 'always',
  'protocol.https.allow': 'always',
};

/** Runs git in a bare repository. If git fails, the failure is returned. Throws only if git can't be started. */
export async function runGit(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { timeoutMs = defaultTimeoutMs, maxOutputBytes = defaultOutputBytes, signal } = options;
  if (signal?.aborted) return { end: 'stopped', status: null, stdout: Buffer.alloc(0), stderr: '' };
  const [file = '', ...rest] = [
    ...(await becomeOwner(folder, options.network ?? false)),
    ...limitProcess(options.maxFileBytes ?? defaultFileBytes),
    'git',
    ...args,
  ];
  const child = spawn(file, rest, {
    cwd: folder,
    env: buildEnvironment(options),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // its own process group, so it can be killed as a whole
  });
  let end: GitResult['end'] = 'exited';
  const stop = (why: GitResult['end']) => {
    if (end === 'exited') end = why;
    killGroup(child.pid);
    // A process that has left the group may keep the pipes open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const onAbort = () => stop('stopped');
  signal?.addEventListener('abort', onAbort);
  const timer = setTimeout(() => stop('timed_out'), timeoutMs);

  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let records = 0;
  const readOutput = async () => {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      if (options.onOutput !== undefined) {
        await options.onOutput(chunk);
        continue;
      }
      chunks.push(chunk.subarray(0, maxOutputBytes - keptBytes));
      keptBytes += chunk.length;
      if (options.maxRecords !== undefined) records += countBytes(chunk, options.maxRecords.end);
      if (keptBytes > maxOutputBytes || records >= (options.maxRecords?.count ?? Number.POSITIVE_INFINITY)) {
        stop('cut');
        return;
      }
    }
  };
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < maxErrorBytes) stderr += chunk.toString('utf8').slice(0, maxErrorBytes - stderr.length);
  });
  child.stdin.on('error', () => {}); // git may exit before it has read everything
  try {
    const closed = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    closed.catch(() => {});
    feed(child.stdin, options.input, stop);
    const reading = readOutput()
      .catch((error) => {
        if (end === 'exited') throw error; // otherwise, it was stopped in the middle
      })
      .finally(() => child.stdout.destroy());
    const [status] = await Promise.all([closed, reading]);
    return { end, status, stdout: Buffer.concat(chunks), stderr };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The command that makes git the owner of the repository. Root never reads what another user owns. */
async function becomeOwner(folder: string, hasNetwork: boolean): Promise<readonly string[]> {
  const { uid } = await stat(folder);
  if (process.getuid?.() !== 0 || uid === 0) return [];
  const wrapper = wrapAsUser(uid, { hasNetwork });
  if (wrapper.length === 0) throw new Error(`git can't run as the owner of ${folder}`);
  return wrapper;
}

/** Like `runGit`, but throws if git fails. For commands that fail only because of a bug or a corrupt repository. */
export async function requireGit(folder: string, args: readonly string[], options?: GitOptions): Promise<Buffer> {
  const result = await runGit(folder, args, options);
  if (result.end !== 'exited' || result.status !== 0) throw new GitError(args[0] ?? '', result);
  return result.stdout;
}

function feed(stdin: NodeJS.WritableStream, input: GitOptions['input'], stop: (why: 'stopped') => void): void {
  if (input === undefined || typeof input === 'string' || Buffer.isBuffer(input)) {
    stdin.end(input ?? '');
    return;
  }
  input.once('error', () => stop('stopped'));
  input.pipe(stdin);
}

const countBytes = (chunk: Buffer, byte: number): number => {
  let count = 0;
  for (let at = chunk.indexOf(byte); at !== -1; at = chunk.indexOf(byte, at + 1)) count += 1;
  return count;
};

function buildEnvironment({ config, environment, network }: GitOptions): Record<string, string> {
  const settings = Object.entries({ ...fixedConfig, ...(network ? networkConfig : {}), ...config });
  return {
    PATH: searchPath,
    HOME: '/nonexistent',
    LC_ALL: 'C.UTF-8',
    // Git starts in the repository. Its user may not be able to enter the folders above.
    GIT_DIR: '.',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    ...environment,
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

const prlimit = ['/usr/bin/prlimit', '/bin/prlimit'].find(existsSync);

/**
 * These limits apply to every process that git starts. Without util-linux, only the limits on time and output apply.
 */
const limitProcess = (maxFileBytes: number): string[] =>
  prlimit === undefined ? [] : [prlimit, `--as=${memoryBytes}`, `--fsize=${maxFileBytes}`, '--core=0', '--'];

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // all processes have already exited
  }
}
