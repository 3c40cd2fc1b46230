// Tests the command sandbox's guarantees: outcomes, refusals, and complete cleanup. Requires root, bubblewrap and
// control groups, and fails without them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listProcessesOf } from '../../../test/support/canaries.ts';
import { makeHarmless } from '../../kit/harmless.ts';
import { findMount, openControlGroups } from './cgroups.ts';
import { openCommandSandbox } from './index.ts';
import { collectOutput } from './output.ts';
import type { CommandSandboxSettings } from './run.ts';
import { createSyscallFilter } from './seccomp.ts';
import type { CommandRequest, CommandSandbox } from './types.ts';

const firstUid = 30_000_000 + (process.pid % 100_000) * 256;
const problems: string[] = [];
const settings: CommandSandboxSettings = {
  bwrap: '/usr/bin/bwrap',
  firstUid,
  cgroup: undefined,
  memoryMb: 256,
  processes: 64,
  processors: 2,
  onProblem: (why) => problems.push(why),
};

let base: string;
let folder: string;
let sandbox: CommandSandbox;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'plinth-commands-'));
  chmodSync(base, 0o711);
  sandbox = openCommandSandbox(settings);
  expect(await sandbox.check()).toEqual({ available: true });
  folder = join(base, 'clone');
  await sandbox.createFolder(folder);
});

afterAll(async () => {
  await sandbox.removeFolder(folder);
  await sandbox.close();
  rmSync(base, { recursive: true });
});

const run = (text: string, more: Partial<CommandRequest> = {}, used = sandbox) =>
  used.run({
    folder,
    command: ['/bin/sh', '-c', text],
    timeoutMs: 20_000,
    maxOutputBytes: 10_000,
    signal: new AbortController().signal,
    ...more,
  });

describe('a command', () => {
  test('runs in /repo as a user of its own, with node, npm and git, and says how it ended', async () => {
    const result = await run('pwd; id -un; node --version; npm --version; git --version; echo text >file; exit 3');
    expect(result).toMatchObject({ outcome: 'exited', exit_code: 3, is_cut: false });
    expect(result).toHaveProperty('output', expect.stringMatching(/^\/repo\nagent\nv\d+\S+\n\d+\.\S+\ngit version/));
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('text\n');
    expect(statSync(join(folder, 'file')).uid).toBe(statSync(folder).uid);
    expect(statSync(folder).uid).toBeGreaterThanOrEqual(firstUid);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('sees the folders and variables it is given, and changes only the writable ones', async () => {
    const [source, target] = [join(base, 'source'), join(base, 'target')];
    mkdirSync(source);
    mkdirSync(target);
    writeFileSync(join(source, 'a'), 'from outside');
    const result = await run('cat /source/a; echo "$GIVEN" >/target/b; echo x >/source/c; ls /source', {
      readOnly: [{ path: source, at: '/source' }],
      writable: [{ path: target, at: '/target' }],
      environment: { GIVEN: 'a value' },
    });
    expect(result).toHaveProperty('output', expect.stringContaining('from outside'));
    expect(readFileSync(join(target, 'b'), 'utf8')).toBe('a value\n');
    expect(readdirSync(source)).toEqual(['a']);
    await sandbox.removeFolder(target);
  });

  test('prints output and errors in order, also through /dev/stdout, as it goes', async () => {
    const pieces: string[] = [];
    const text = 'echo 1; echo 2 >&2; echo 3 >/dev/stdout; echo 4 >/dev/stderr; printf 5';
    const result = await run(text, { onOutput: (piece) => pieces.push(piece) });
    expect(result).toHaveProperty('output', '1\n2\n3\n4\n5');
    expect(pieces.join('')).toBe('1\n2\n3\n4\n5');
  });

  test('keeps the beginning and the end of an output that is too long', async () => {
    const result = await run('echo first; seq 100000; echo last', { maxOutputBytes: 1_000 });
    expect(result).toMatchObject({ outcome: 'exited', is_cut: true });
    expect(result).toHaveProperty(
      'output',
      expect.stringMatching(/^first\n1\n[\s\S]*left out[\s\S]*\n100000\nlast\n$/),
    );
  });

  test('has no descriptor open but the usual three', async () => {
    const result = await run('ls /proc/$$/fd');
    expect(result).toHaveProperty('output', '0\n1\n2\n');
  });

  test('is killed at once when its signal aborts, with everything it started', async () => {
    const stopping = new AbortController();
    const text = 'setsid sleep 300 & nohup sleep 300 & echo ready; sleep 300';
    let abortedAt = 0;
    const result = await run(text, {
      signal: stopping.signal,
      onOutput() {
        abortedAt = performance.now();
        stopping.abort();
      },
    });
    expect(result).toMatchObject({ outcome: 'stopped', output: expect.stringContaining('ready') });
    expect(listProcessesOf(firstUid)).toEqual([]);
    // This takes about 50 ms on an idle machine. On a busy machine it may take seconds, but never as long as the
    // command.
    expect(performance.now() - abortedAt).toBeLessThan(30_000);
  });

  test('does not start when its signal has aborted before', async () => {
    expect(await run('echo x >aborted; sleep 9', { signal: AbortSignal.abort() })).toMatchObject({
      outcome: 'stopped',
    });
  });

  test('is stopped when the sandbox is closed', async () => {
    const closed = openCommandSandbox(settings);
    let onReady = () => {};
    const ready = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    const result = run('echo ready; sleep 300', { onOutput: onReady }, closed);
    await ready;
    await closed.close();
    expect(await result).toMatchObject({ outcome: 'stopped' });
    expect(listProcessesOf(firstUid)).toEqual([]);
  });

  test('leaves no control group', async () => {
    await run('true');
    const left = listGroups().filter((name) => name.includes(`-${process.pid}-`));
    expect(left).toEqual([]);
    expect(problems).toEqual([]);
  });

  test.each([['/usr'], ['/proc'], ['relative'], ['/a/../b']])('cannot be given a folder at %s', async (at) => {
    await expect(run('true', { readOnly: [{ path: base, at }] })).rejects.toThrow('absolute path');
  });
});

describe('a command is refused, not run without protection,', () => {
  const refused = async (more: Partial<CommandSandboxSettings>): Promise<string> => {
    const other = openCommandSandbox({ ...settings, ...more, onProblem: () => undefined });
    const result = await run('echo x >ran', {}, other);
    await other.close();
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    return result.outcome === 'unavailable' ? result.reason : result.outcome;
  };

  test('where bubblewrap is missing or switched off', async () => {
    expect(await refused({ bwrap: '/usr/bin/no-such-bwrap' })).toBe(
      'bubblewrap is not installed (/usr/bin/no-such-bwrap).',
    );
    expect(await refused({ bwrap: undefined })).toContain('COMMAND_SANDBOX_BWRAP');
  });

  test('where bubblewrap may not make namespaces', async () => {
    const bwrap = writeProgram('forbidden-bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    expect(await refused({ bwrap })).toContain('No permissions to create new namespace');
  });

  test("where bubblewrap can't mount what it needs", async () => {
    const bwrap = writeProgram('mountless-bwrap', 'exec /usr/bin/bwrap --ro-bind /no-such-folder /x "$@"');
    expect(await refused({ bwrap })).toMatch(/Can't find source path \/no-such-folder/);
  });

  test('where no control group can be made', async () => {
    expect(await refused({ cgroup: '../../../../proc/plinth' })).toMatch(/control group .* can't be/);
  });

  test('where limits have no effect', async () => {
    const bwrap = writeProgram('idle-bwrap', 'exec true');
    expect(await refused({ bwrap })).toMatch(/did not start|process limit/);
  });
});

/** Creates a program to use in place of bubblewrap, because a test can't break the machine's own. */
function writeProgram(name: string, line: string): string {
  const path = join(base, name);
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe('a folder', () => {
  test('is removed however deep, closed and oddly named its contents are', async () => {
    const hostile = join(base, 'hostile');
    await sandbox.createFolder(hostile);
    const text = `mkdir -p -- -rf "a
b" c/d; ln -s / c/root; chmod 000 c; /usr/bin/python3 -c "import os
for i in range(1500): os.mkdir('d'); os.chdir('d')"`;
    expect(await run(text, { folder: hostile })).toMatchObject({ outcome: 'exited', exit_code: 0 });
    await sandbox.removeFolder(hostile);
    expect(existsSync(hostile)).toBe(false);
  });

  test('that is not there is removed already', async () => {
    await sandbox.removeFolder(join(base, 'nowhere'));
  });

  test('is not made where commands could not reach it', async () => {
    mkdirSync(join(base, 'closed'), { mode: 0o700 });
    await expect(sandbox.createFolder(join(base, 'closed', 'clone'))).rejects.toThrow('allow all users to enter');
  });
});

test('the folder of a probe whose worker was killed is removed later', async () => {
  const [left, running] = ['left', 'running'].map((name) => join(tmpdir(), `plinth-command-probe-${firstUid}-${name}`));
  for (const path of [left, running] as string[]) await sandbox.createFolder(path);
  const longAgo = new Date(Date.now() - 120_000);
  writeFileSync(join(left as string, 'probe'), '');
  utimesSync(left as string, longAgo, longAgo);
  await sandbox.removeLeftovers();
  expect([left, running].map((path) => existsSync(path as string))).toEqual([false, true]);
  await sandbox.removeFolder(running as string);
});

describe('control groups', () => {
  test('of a process that was killed are emptied and removed by the next', async () => {
    const { create } = await openControlGroups(undefined);
    const group = await create({ memoryBytes: 64 << 20, processes: 8, processors: 1 });
    // Simulates a group whose process has ended, by using the same name with a different start time.
    const survivor = spawn('/bin/sh', [
      '-c',
      'for g; do echo 0 >$g/cgroup.procs; done; echo ready; exec sleep 300',
      'sh',
      ...abandon(group.folders),
    ]);
    await once(survivor.stdout, 'data');
    const groups = await openControlGroups(undefined);
    await groups.removeLeftovers();
    if (survivor.signalCode === null) await once(survivor, 'exit');
    expect(survivor.signalCode).toBe('SIGKILL');
    expect(listGroups().filter((name) => name.endsWith('-987654'))).toEqual([]);
    expect(existsSync(group.folders[0] ?? '')).toBe(true);
    await group.remove();
  });

  test('are found in both versions', () => {
    const lines = `35 24 0:30 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
36 24 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct
37 24 0:32 / /sys/fs/cgroup/pids rw shared:11 - cgroup cgroup rw,pids`;
    expect(findMount(lines, 'cgroup', 'pids')).toBe('/sys/fs/cgroup/pids');
    expect(findMount(lines, 'cgroup', 'cpuacct')).toBe('/sys/fs/cgroup/cpu,cpuacct');
    expect(findMount(lines, 'cgroup', 'memory')).toBeUndefined();
    expect(findMount(lines, 'cgroup2', undefined)).toBe('/sys/fs/cgroup/unified');
  });
});

/** Creates groups beside the given ones, for an owner that never ran. */
function abandon(folders: readonly string[]): string[] {
  return folders.map((each) => {
    const other = each.replace(/-(\d+)-\d+-\d+$/, '-$1-1-987654');
    mkdirSync(other);
    return other;
  });
}

const listGroups = (): string[] =>
  ['pids', 'memory', 'cpu', '.']
    .map((controller) => join('/sys/fs/cgroup', controller, 'plinth'))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path));

describe('output', () => {
  test.each([
    ['\u001b[31mred\u001b[0m \u001b[2J', 'red '],
    ['a\r\nb\rc\td', 'a\nb\nc\td'],
    ['\u001b]0;title\u0007', '␛]0;title␇'],
    ['nul \0 bell \u0007 del \u007f c1 \u009b31m', 'nul ␀ bell ␇ del ␡ c1 \ufffd31m'],
    ['\u202eevil\u2066', '\ufffdevil\ufffd'],
  ])('%j is shown as %j', (text, shown) => {
    expect(makeHarmless(text)).toBe(shown);
  });

  test('is the same however it is cut into pieces', () => {
    const bytes = Buffer.from('ä\u001b[1;31m€\r\n\u001b[0m😀\u001b]x\r');
    const whole = 'ä€\n😀␛]x\n';
    for (let at = 0; at <= bytes.length; at += 1) {
      const collector = collectOutput(1_000, undefined);
      collector.add(bytes.subarray(0, at));
      collector.add(bytes.subarray(at));
      expect(collector.end()).toEqual({ output: whole, is_cut: false });
    }
  });
});

describe('the filter of system calls', () => {
  const processors = [
    {
      processor: 'x64',
      arch: 0xc000003e,
      mount: 165,
      keyctl: 250,
      read: 0,
      clone: 56,
      socket: 41,
      ioctl: 16,
      execve: 59,
    },
    {
      processor: 'arm64',
      arch: 0xc00000b7,
      mount: 40,
      keyctl: 219,
      read: 63,
      clone: 220,
      socket: 198,
      ioctl: 29,
      execve: 221,
    },
  ];
  const [allowed, killed] = [0x7fff0000, 0x80000000];
  const errno = (code: number) => 0x00050000 + code;

  test.each(processors)('refuses on $processor what builds do not need', ({ processor, arch, ...calls }) => {
    const ask = (number: number, ...values: number[]) => interpret(processor, arch, number, values);
    expect([ask(calls.read), ask(calls.execve), ask(calls.clone, 0x11), ask(calls.ioctl, 0, 0x5401)]).toEqual(
      Array(4).fill(allowed),
    );
    expect([ask(calls.mount), ask(calls.keyctl), ask(425), ask(428), ask(442)]).toEqual(Array(5).fill(errno(1)));
    expect([ask(calls.clone, 0x10000011), ask(calls.clone, 0x40000000), ask(calls.ioctl, 0, 0x5412)]).toEqual(
      Array(3).fill(errno(1)),
    );
    expect(ask(435)).toBe(errno(38));
    expect([ask(calls.socket, 1), ask(calls.socket, 2), ask(calls.socket, 10), ask(calls.socket, 16, 3, 0)]).toEqual(
      Array(4).fill(allowed),
    );
    expect([ask(calls.socket, 16, 3, 12), ask(calls.socket, 17), ask(calls.socket, 40)]).toEqual(
      Array(3).fill(errno(97)),
    );
    expect(ask(0x40000000)).toBe(killed);
    expect(interpret(processor, 0x40000003, 1, [])).toBe(killed);
  });

  test('does not exist for other processors', () => {
    expect(createSyscallFilter('riscv64')).toBeUndefined();
  });
});

/** Runs the filter program on a description of one call, as the kernel would. */
function interpret(processor: string, arch: number, number: number, values: readonly number[]): number {
  const program = createSyscallFilter(processor);
  if (program === undefined) throw new Error('there is no filter');
  const call = Buffer.alloc(64);
  call.writeUInt32LE(number, 0);
  call.writeUInt32LE(arch, 4);
  for (const [index, value] of values.entries()) call.writeUInt32LE(value, 16 + 8 * index);
  let loaded = 0;
  for (let at = 0; ; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean) => {
      at += program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    };
    if (code === 0x06) return value;
    if (code === 0x20) loaded = call.readUInt32LE(value);
    else if (code === 0x15) jump(loaded === value);
    else if (code === 0x35) jump(loaded >= value);
    else if (code === 0x45) jump((loaded & value) !== 0);
    else throw new Error(`an unknown instruction: ${code}`);
  }
}
