// Compares two trees: the changed files, the number of changed lines, and a size-limited patch.
import { GitError, requireGit, runGit } from './run.ts';
import { checkId } from './trees.ts';
import type { DiffFile, DiffOptions, DiffSummary } from './types.ts';

const statuses: Readonly<Record<string, DiffFile['status']>> = { A: 'added', D: 'deleted' };

export async function diff(
  folder: string,
  from: string,
  to: string,
  { maxPatchBytes = 0, maxFiles = 1_000 }: DiffOptions = {},
): Promise<DiffSummary> {
  const args = (format: string[]) => [
    'diff-tree',
    '-r',
    '--no-renames',
    '--no-textconv',
    '--no-ext-diff',
    '--no-color',
    ...format,
    checkId(from),
    checkId(to),
  ];
  const [lines, names] = await Promise.all([
    requireGit(folder, args(['--numstat', '-z']), { maxOutputBytes: 64 * 1024 * 1024 }),
    requireGit(folder, args(['--name-status', '-z']), { maxOutputBytes: 64 * 1024 * 1024 }),
  ]);
  const statusOf = parseStatuses(names);
  const files = splitRecords(lines).map((record) => {
    const [added = '', removed = '', ...path] = record.split('\t');
    const name = path.join('\t');
    return { path: name, status: statusOf.get(name) ?? 'modified', added: toCount(added), removed: toCount(removed) };
  });
  const sum = (of: (file: DiffFile) => number | null) => files.reduce((total, file) => total + (of(file) ?? 0), 0);
  return {
    files: files.slice(0, maxFiles),
    file_count: files.length,
    added: sum(({ added }) => added),
    removed: sum(({ removed }) => removed),
    ...(await readPatch(folder, args(['--patch', '--full-index']), maxPatchBytes)),
  };
}

export async function changesSubmodules(folder: string, from: string, to: string): Promise<boolean> {
  let isFound = false;
  await readChanges(folder, from, to, (change) => {
    if (/^:(160000 |\d{6} 160000 )/.test(change)) isFound = true;
  });
  return isFound;
}

export async function listChangedPaths(
  folder: string,
  from: string,
  to: string,
  isWanted: (path: string) => boolean,
): Promise<string[]> {
  const paths: string[] = [];
  await readChanges(folder, from, to, (_, path) => {
    if (isWanted(path)) paths.push(path);
  });
  return paths;
}

/** Reads records such as `:100644 160000 <id> <id> T\0path\0` as a stream, because the number of files is unlimited. */
async function readChanges(
  folder: string,
  from: string,
  to: string,
  onChange: (change: string, path: string) => void,
): Promise<void> {
  const args = [
    'diff-tree',
    '-r',
    '--no-renames',
    '--ignore-submodules=none',
    '--raw',
    '-z',
    checkId(from),
    checkId(to),
  ];
  let rest = '';
  let change: string | undefined;
  await requireGit(folder, args, {
    onOutput(chunk) {
      const records = (rest + chunk.toString('latin1')).split('\0');
      rest = records.pop() ?? '';
      for (const record of records) {
        if (change !== undefined) onChange(change, Buffer.from(record, 'latin1').toString());
        change = change === undefined ? record : undefined;
      }
    },
  });
}

async function readPatch(
  folder: string,
  args: string[],
  maxBytes: number,
): Promise<{ patch: string; is_patch_cut: boolean }> {
  if (maxBytes <= 0) return { patch: '', is_patch_cut: false };
  const result = await runGit(folder, args, { maxOutputBytes: maxBytes });
  if (result.end !== 'cut' && result.status !== 0) throw new GitError('diff-tree', result);
  if (result.end !== 'cut') return { patch: result.stdout.toString('utf8'), is_patch_cut: false };
  const end = result.stdout.lastIndexOf(10) + 1;
  return { patch: result.stdout.subarray(0, end).toString('utf8'), is_patch_cut: true };
}

/** Parses `A\0new.ts\0M\0src/index.ts\0`. */
function parseStatuses(output: Buffer): Map<string, DiffFile['status']> {
  const records = splitRecords(output);
  const found = new Map<string, DiffFile['status']>();
  for (let index = 0; index + 1 < records.length; index += 2)
    found.set(records[index + 1] ?? '', statuses[records[index] ?? ''] ?? 'modified');
  return found;
}

const splitRecords = (output: Buffer): string[] => output.toString('utf8').split('\0').slice(0, -1);

/** Git prints `-` for binary files. */
const toCount = (text: string): number | null => (text === '-' ? null : Number(text));
