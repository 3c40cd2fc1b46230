// Bubblewrap's arguments: what exists inside the sandbox, and which user the command runs as. Nothing else exists
// inside the sandbox.
import { existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Mount } from './types.ts';

export interface Inside {
  readonly readOnly: readonly Mount[];
  readonly writable: readonly Mount[];
  readonly environment: Readonly<Record<string, string>>;
  readonly tmpBytes: number;
  readonly processor: string;
}

/** A file descriptor for the started process, and the content that bubblewrap reads from it. */
export interface InputDescriptor {
  readonly descriptor: number;
  readonly content: Buffer;
}

/** The user id inside the sandbox. Outside, it maps to the owner of the command's folder. */
const insideId = 1000;
/** The descriptor to which bubblewrap writes that the command has started, and how it ended. */
export const statusDescriptor = 4;
const argumentDescriptor = 3;
const filterDescriptor = 5;
const firstFileDescriptor = 6;

const etcFiles: Readonly<Record<string, string>> = {
  '/etc/passwd': `agent:x:${insideId}:${insideId}:agent:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
  '/etc/group': `agent:x:${insideId}:\nnogroup:x:65534:\n`,
  '/etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  '/etc/hosts': '127.0.0.1 localhost sandbox\n::1 localhost\n',
  // Without this, git would not trust read-only mounts, because another user owns them.
  '/etc/gitconfig': '[safe]\n\tdirectory = *\n',
};
const etcOfHost = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/ssl/certs', '/etc/localtime'];
const nodePrefix = '/opt/node';
const reserved = ['/', '/usr', '/proc', '/dev', '/etc', '/tmp', '/bin', '/lib', '/sbin'];

/** The `bwrap` call and its inputs. The command is appended to the call. */
export function prepareBubblewrap(bwrap: string, inside: Inside, filter: Buffer) {
  const files = Object.entries(etcFiles).map(([path, text], index) => ({
    descriptor: firstFileDescriptor + index,
    content: Buffer.from(text),
    path,
  }));
  const list = [
    ...isolation,
    ...['--uid', String(insideId), '--gid', String(insideId), '--hostname', 'sandbox'],
    ...listSystemFolders(),
    ...listNode(inside.processor),
    ...etcOfHost.flatMap((path) => ['--ro-bind-try', path, path]),
    ...files.flatMap(({ descriptor, path }) => ['--ro-bind-data', String(descriptor), path]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--size', String(inside.tmpBytes), '--tmpfs', '/dev/shm', '--size', String(inside.tmpBytes), '--tmpfs', '/tmp'],
    ...inside.readOnly.flatMap(({ path, at }) => ['--ro-bind', path, checkPlace(at)]),
    ...inside.writable.flatMap(({ path, at }) => ['--bind', path, checkPlace(at)]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/repo'],
    ...listEnvironment(inside.environment),
    ...['--json-status-fd', String(statusDescriptor), '--seccomp', String(filterDescriptor)],
  ];
  return {
    command: [bwrap, '--args', String(argumentDescriptor), '--'],
    inputs: [
      { descriptor: argumentDescriptor, content: Buffer.from(list.map((each) => `${each}\0`).join('')) },
      { descriptor: filterDescriptor, content: filter },
      ...files,
    ] satisfies InputDescriptor[],
  };
}

/**
 * The arguments for running our own tools on a folder with hostile contents, which is all that the tools see. They can
 * enter folders without permissions, because they run as root in a user namespace that contains only the folder's
 * owner.
 */
export const listToolArguments = (folders: readonly string[], access: '--bind' | '--ro-bind'): string[] => [
  ...isolation,
  ...['--uid', '0', '--gid', '0', '--cap-add', 'CAP_DAC_OVERRIDE', '--cap-add', 'CAP_FOWNER'],
  ...listSystemFolders(),
  ...['--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache', '--proc', '/proc', '--dev', '/dev'],
  ...folders.flatMap((path, index) => [access, path, `/folders/${index}`]),
  ...['--remount-ro', '/', '--chdir', '/', '--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'LANG', 'C'],
];

const isolation = [
  '--unshare-all',
  '--unshare-user',
  '--disable-userns',
  '--die-with-parent',
  '--new-session',
  '--clearenv',
  ...['--cap-drop', 'ALL'],
];

/** On most systems, `/bin` and similar folders are links into `/usr`. */
const listSystemFolders = (): string[] => [
  ...['--ro-bind', '/usr', '/usr'],
  // Hides folders in which images and administrators put their own programs and settings.
  ...['/usr/src', '/usr/local/etc', '/usr/local/src'].flatMap((path) => (existsSync(path) ? ['--tmpfs', path] : [])),
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  }),
];

/**
 * Mounts the Node that runs this process, and its npm, unless Node is in `/usr`. Nothing else is mounted, because a
 * folder such as `~/bin` may contain other files. Skipped if other users can't reach the files, for example in `/root`.
 */
function listNode(processor: string): string[] {
  const npm = join(dirname(processor), '../lib/node_modules/npm');
  if (processor.startsWith('/usr/') || !isOpenToAll(processor)) return [];
  const node = ['--ro-bind', processor, `${nodePrefix}/bin/node`];
  if (!existsSync(join(npm, 'bin/npm-cli.js')) || !isOpenToAll(npm)) return node;
  const link = (name: string) => [
    '--symlink',
    `../lib/node_modules/npm/bin/${name}-cli.js`,
    `${nodePrefix}/bin/${name}`,
  ];
  return [...node, '--ro-bind', npm, `${nodePrefix}/lib/node_modules/npm`, ...link('npm'), ...link('npx')];
}

function isOpenToAll(path: string): boolean {
  if (((statSync(path).mode & 0o005) === 0o005) === false) return false;
  return isReachableByAll(dirname(path));
}

/** Whether every user may enter the folder and all its parents. */
export function isReachableByAll(folder: string): boolean {
  if ((statSync(folder).mode & 0o001) === 0) return false;
  return folder === '/' || isReachableByAll(dirname(folder));
}

function listEnvironment(environment: Readonly<Record<string, string>>): string[] {
  const all = {
    PATH: `${nodePrefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: '/tmp',
    USER: 'agent',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ...environment,
  };
  for (const [name, value] of Object.entries(all))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes('\0'))
      throw new Error("a command's environment contains an invalid name or value");
  return Object.entries(all).flatMap(([name, value]) => ['--setenv', name, value]);
}

function checkPlace(at: string): string {
  if (!at.startsWith('/') || normalize(at) !== at || reserved.includes(at) || at.includes('\0'))
    throw new Error('a folder must be mounted at an absolute path that the sandbox does not use itself');
  return at;
}
