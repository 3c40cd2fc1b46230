// The git host's repositories: real bare repositories in a folder, created and read with git.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

export interface NewRepository {
  /** The full name, in the form `owner/name`. */
  readonly full_name: string;
  /** The initial files by path. Alternatively, `folder` is copied without its `.git` and `node_modules`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly folder?: string;
  readonly default_branch?: string;
  /** Branches to which no one can push. */
  readonly protected?: readonly string[];
}

export interface Repository {
  readonly full_name: string;
  readonly default_branch: string;
  readonly protected: readonly string[];
}

export interface RefChange {
  readonly ref: string;
  /** The commit before the change. Null if the ref did not exist. `new` is null if the ref was deleted. */
  readonly old: string | null;
  readonly new: string | null;
}

export const gitEnvironment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_COUNT: '5',
  GIT_CONFIG_KEY_0: 'http.receivepack',
  GIT_CONFIG_VALUE_0: 'true',
  GIT_CONFIG_KEY_1: 'safe.directory',
  GIT_CONFIG_VALUE_1: '*',
  GIT_CONFIG_KEY_2: 'uploadpack.allowReachableSHA1InWant',
  GIT_CONFIG_VALUE_2: 'true',
  GIT_CONFIG_KEY_3: 'gc.auto',
  GIT_CONFIG_VALUE_3: '0',
  GIT_CONFIG_KEY_4: 'receive.fsckObjects',
  GIT_CONFIG_VALUE_4: 'true',
};

const run = promisify(execFile);

export async function git(folder: string, ...args: string[]): Promise<string> {
  const options = { cwd: folder, env: { ...gitEnvironment, GIT_DIR: folder }, maxBuffer: 64 * 1024 * 1024 };
  return (await run('git', args, options)).stdout.trim();
}

/** Returns undefined if git fails, for example because the ref does not exist. */
export const tryGit = (folder: string, ...args: string[]): Promise<string | undefined> =>
  git(folder, ...args).catch(() => undefined);

/** Rejects pushes to protected branches with GitHub's message. */
const hook = `#!/bin/sh
while read -r old new ref; do
  if grep -qxF "$ref" "$GIT_DIR/protected"; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    exit 1
  fi
done
`;

export async function createRepository(folder: string, { full_name, ...given }: NewRepository): Promise<Repository> {
  const repository = { full_name, default_branch: given.default_branch ?? 'main', protected: given.protected ?? [] };
  mkdirSync(join(folder, '..'), { recursive: true });
  await run(
    'git',
    ['init', '--quiet', '--bare', '--template=', `--initial-branch=${repository.default_branch}`, folder],
    {
      env: gitEnvironment,
    },
  );
  mkdirSync(join(folder, 'hooks'), { recursive: true });
  writeFileSync(join(folder, 'hooks', 'pre-receive'), hook);
  chmodSync(join(folder, 'hooks', 'pre-receive'), 0o755);
  protectBranches(folder, repository.protected);
  const files =
    given.files ?? (given.folder === undefined ? { 'README.md': `# ${full_name}\n` } : readFolder(given.folder));
  await commitFiles(folder, repository.default_branch, files, 'Initial commit');
  return repository;
}

export const protectBranches = (folder: string, branches: readonly string[]): void =>
  writeFileSync(join(folder, 'protected'), branches.map((branch) => `refs/heads/${branch}\n`).join(''));

/**
 * Creates a commit on a branch. A new branch starts at `from`, if given. A null value deletes the file. Returns the
 * commit id.
 */
export async function commitFiles(
  folder: string,
  branch: string,
  files: Readonly<Record<string, string | Buffer | null>>,
  message: string,
  from?: string,
): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const parent = await tryGit(folder, 'rev-parse', '--verify', '--quiet', `${from ?? ref}^{commit}`);
  const parts: (string | Buffer)[] = [
    `commit ${ref}\ncommitter Sandbox <sandbox@example.com> ${Math.floor(Date.now() / 1000)} +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
    parent === undefined ? '' : `from ${parent}\n`,
  ];
  for (const [path, content] of Object.entries(files)) {
    const name = `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
    if (content === null) parts.push(`D ${name}\n`);
    else parts.push(`M 100644 inline ${name}\ndata ${Buffer.byteLength(content)}\n`, content, '\n');
  }
  parts.push('\ndone\n');
  const child = spawn('git', ['fast-import', '--done', '--quiet', '--force'], {
    cwd: folder,
    env: { ...gitEnvironment, GIT_DIR: folder },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))));
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  if (status !== 0) throw new Error(`git fast-import ended with ${status}`);
  return git(folder, 'rev-parse', ref);
}

export async function listRefs(folder: string): Promise<Map<string, string>> {
  const lines = (await git(folder, 'for-each-ref', '--format=%(objectname) %(refname)')).split('\n');
  return new Map(lines.filter((line) => line !== '').map((line) => [line.slice(41), line.slice(0, 40)]));
}

export function compareRefs(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): RefChange[] {
  const refs = new Set([...before.keys(), ...after.keys()]);
  return [...refs]
    .map((ref) => ({ ref, old: before.get(ref) ?? null, new: after.get(ref) ?? null }))
    .filter((change) => change.old !== change.new);
}

function readFolder(folder: string): Record<string, Buffer> {
  const files: Record<string, Buffer> = {};
  const visit = (at: string) => {
    for (const name of readdirSync(at)) {
      if (name === '.git' || name === 'node_modules') continue;
      const path = join(at, name);
      if (statSync(path).isDirectory()) visit(path);
      else files[relative(folder, path)] = readFileSync(path);
    }
  };
  if (!existsSync(folder)) throw new Error(`There is no folder ${folder}.`);
  visit(folder);
  return files;
}
