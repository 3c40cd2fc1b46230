// Pushes a folder to an app, in one revision. What others have changed since the last push from here is never replaced.
import { isPlinthError, type PlinthApp, type PlinthError } from '../../../sdk/src/index.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { readState, writeState } from '../state.ts';
import { type LocalFile, type LocalFiles, readLocalFiles } from './local-files.ts';

export interface PushOptions {
  readonly app_id: string;
  readonly folder: string;
  /** Whether files that are only in the app are removed. */
  readonly removes: boolean;
  /** Whether files that others have changed are replaced. */
  readonly forces: boolean;
  /** Whether more than one request may be needed, and so more than one revision. */
  readonly splits: boolean;
  readonly signal: AbortSignal;
  /** Asked once, before files are removed. */
  confirm(paths: readonly string[]): Promise<void>;
  onProgress(sent: number, total: number): void;
}

export interface Pushed {
  readonly revision: number;
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
  /** The files that are only in the app, without those that are never pushed. */
  readonly kept: readonly string[];
  /** How many files of the app publishing would serve. */
  readonly served: number;
  /** The files of the folder that it would not. */
  readonly notServed: readonly string[];
}

/** The SHA-256 of files by their paths. */
type Hashes = ReadonlyMap<string, string>;

interface Remote {
  readonly revision: number;
  readonly files: Hashes;
}

interface Plan {
  readonly write: readonly LocalFile[];
  readonly remove: readonly string[];
  readonly conflicts: readonly string[];
  readonly kept: readonly string[];
}

interface Base {
  readonly app_id: string;
  readonly files: Readonly<Record<string, string>>;
}

/** The body has at most 10 MiB, as JSON. */
const maxBytes = 9 * 1024 * 1024;
const maxAttempts = 6;

export async function push(app: PlinthApp, options: PushOptions): Promise<Pushed> {
  const localFiles = await readLocalFiles(options.folder);
  const { files: local } = localFiles;
  if (local.size === 0) throw new CommandError(`There are no files in ${options.folder}.`, 'nothing_to_push');
  const base = await readBase(options.app_id);
  const done = { created: new Set<string>(), updated: new Set<string>(), deleted: new Set<string>() };
  let unknown: PlinthError | undefined;
  let failures = 0;
  for (let isFirst = true; ; isFirst = false) {
    const remote = await readRemote(app, options.signal).catch((error: unknown) => {
      throw unknown ?? error;
    });
    const plan = compare(localFiles, remote.files, base, options);
    if (plan.conflicts.length > 0) refuseConflicts(plan.conflicts);
    if (isFirst && plan.remove.length > 0) await options.confirm(plan.remove);
    if (plan.write.length === 0 && plan.remove.length === 0) {
      await writeBase(options.app_id, local, base);
      const { revision } = remote;
      return {
        revision,
        created: [...done.created],
        updated: [...done.updated],
        deleted: [...done.deleted],
        kept: plan.kept,
        ...judgeServed([...local.keys()], [...remote.files.keys()]),
      };
    }
    const part = cutPart(plan, options.splits);
    options.onProgress(local.size - plan.write.length, local.size);
    const sent = await app
      .syncAppFiles({ ...part, expected_revision: remote.revision }, { signal: options.signal })
      .result();
    // What took effect is read from the list in the next round, even if the answer was lost.
    for (const { path } of part.files) (remote.files.has(path) ? done.updated : done.created).add(path);
    for (const path of part.delete) done.deleted.add(path);
    if (sent.ok) continue;
    unknown = sent.error.outcomeUnknown ? sent.error : undefined;
    failures += 1;
    const mayHelp = sent.error.outcomeUnknown || isPlinthError(sent.error, 'revision_conflict');
    if (!mayHelp || failures >= maxAttempts) throw sent.error;
  }
}

/** What is served is in `dist`, or in `public` if there is no `dist` (docs/api/publishing.md). */
function judgeServed(pushed: readonly string[], all: readonly string[]): Pick<Pushed, 'served' | 'notServed'> {
  const root = all.some((path) => path.startsWith('dist/')) ? 'dist/' : 'public/';
  return {
    served: all.filter((path) => path.startsWith(root)).length,
    notServed: pushed.filter((path) => !path.startsWith(root)),
  };
}

async function readRemote(app: PlinthApp, signal: AbortSignal): Promise<Remote> {
  const { revision } = await app.getApp({}, { signal });
  const files = new Map<string, string>();
  for await (const { path, sha256 } of app.listAppFiles({ limit: 100 }, { signal })) files.set(path, sha256);
  return { revision, files };
}

/** A file of the app may be replaced if it is as the last push from here left it. */
function compare(
  { files, isLeftOut }: LocalFiles,
  remote: Hashes,
  base: Hashes,
  { removes, forces }: PushOptions,
): Plan {
  const isOurs = (path: string) => forces || !remote.has(path) || remote.get(path) === base.get(path);
  const write = [...files.values()].filter(({ path, sha256 }) => remote.get(path) !== sha256);
  const onlyThere = [...remote.keys()].filter((path) => !files.has(path) && !isLeftOut(path));
  const remove = removes ? onlyThere : [];
  const conflicts = [...write.map(({ path }) => path), ...remove].filter((path) => !isOurs(path));
  return { write, remove, conflicts, kept: removes ? [] : onlyThere };
}

function refuseConflicts(paths: readonly string[]): never {
  const shown = paths.slice(0, 10).join(', ');
  throw new CommandError(
    `Others have changed these files of the app, or they were never pushed from here: ${shown}${paths.length > 10 ? ', …' : ''}. Nothing was pushed. Read them with: plinthctl call getAppFile --path ${paths[0]}. To replace them, pass --force.`,
    'files_changed',
    exitCodes.conflict,
  );
}

interface Part {
  readonly files: { readonly path: string; readonly content: string; readonly encoding: 'utf-8' | 'base64' }[];
  readonly delete: string[];
}

/** The files of one request. Files are removed with the last part. */
function cutPart({ write, remove }: Plan, splits: boolean): Part {
  const files: Part['files'] = [];
  let bytes = 0;
  for (const { path, content } of write) {
    const file = { path, ...encode(content) };
    bytes += Buffer.byteLength(JSON.stringify(file));
    if (bytes <= maxBytes || files.length === 0) files.push(file);
    else if (splits) return { files, delete: [] };
    else
      throw new CommandError(
        'There is more to push than the 10 MiB of one revision. Pass --split to push it as several, or name in .plinthignore what the app does not need.',
        'too_large',
      );
  }
  return { files, delete: [...remove] };
}

function encode(content: Buffer): { content: string; encoding: 'utf-8' | 'base64' } {
  const text = content.toString('utf8');
  // Bytes that are no text come out changed.
  const isText = !text.includes('\0') && Buffer.from(text).equals(content);
  return isText ? { content: text, encoding: 'utf-8' } : { content: content.toString('base64'), encoding: 'base64' };
}

async function readBase(app_id: string): Promise<Hashes> {
  const base = await readState<Base>('files');
  return new Map(base?.app_id === app_id ? Object.entries(base.files) : []);
}

/** Files that are only in the app stay as they were known. */
const writeBase = (app_id: string, local: ReadonlyMap<string, LocalFile>, base: Hashes): Promise<void> =>
  writeState('files', {
    app_id,
    files: Object.fromEntries([...base, ...[...local.values()].map(({ path, sha256 }) => [path, sha256] as const)]),
  });
