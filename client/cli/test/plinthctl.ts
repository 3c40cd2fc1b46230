// Runs plinthctl as a process of its own, with a folder of its own for its files.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

export const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What stdout contains, if it is one JSON document. */
  // biome-ignore lint/suspicious/noExplicitAny: Answers are not typed here.
  readonly json: any;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Shown {
  readonly status: number | null;
  readonly screen: string;
}

export interface Terminal {
  readonly folder: string;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** The same in a pseudo-terminal, which shows both streams. `input` is typed. */
  inTerminal(args: readonly string[], options?: RunOptions): Promise<Shown>;
  start(args: readonly string[], options?: RunOptions): ReturnType<typeof spawn>;
}

/** A person's machine: a home without profiles. `env` is set for every command. */
export async function openTerminal(env: Readonly<Record<string, string>> = {}): Promise<Terminal> {
  const folder = await mkdtemp(join(tmpdir(), 'plinthctl-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const startProgram = ([program = '', ...args]: string[], { env: more = {}, cwd = folder }: RunOptions = {}) => {
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
    const own = { PATH, NODE_COMPILE_CACHE, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config') };
    return spawn(program, args, { cwd, env: { ...own, ...env, ...more } });
  };
  const plinthctl = (args: readonly string[]) => [process.execPath, mainFile, ...args];
  const start = (args: readonly string[], options: RunOptions = {}) => startProgram(plinthctl(args), options);
  const run = (args: readonly string[], options: RunOptions = {}) => finish(start(args, options), options);
  const inTerminal = async (args: readonly string[], options: RunOptions = {}): Promise<Shown> => {
    const program = ['python3', '-c', openPseudoTerminal, ...plinthctl(args)];
    const { status, stdout } = await finish(startProgram(program, options), options);
    return { status, screen: stdout.replaceAll('\r\n', '\n') };
  };
  return { folder, run, inTerminal, start };
}

/** Runs a program in a pseudo-terminal, without colours. */
const openPseudoTerminal = `import os, pty, sys
os.environ['NO_COLOR'] = '1'
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`;

async function finish(child: ChildProcessWithoutNullStreams, { input = '' }: RunOptions): Promise<Ended> {
  child.stdin.end(input);
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return {
    status,
    stdout,
    stderr,
    get json() {
      if (stdout === '') throw new Error(`nothing on stdout: ${stderr}`);
      return JSON.parse(stdout);
    },
  };
}

/** The last line of stderr, which is the problem of a command that failed. */
export const problemOf = ({ stderr }: Ended) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
