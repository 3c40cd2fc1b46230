// Bundle files. A bundle contains one commit, and the objects that its tree needs in addition to a base commit
// that the reader already has. Bundles may come from untrusted sources.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants, createWriteStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { requireGit, runGit } from './run.ts';
import { BundleRefused } from './types.ts';

const headerBytes = 64 * 1024;

/** Writes git's bundle format, version 2, without creating a ref in the repository. */
export async function writeBundle(folder: string, file: string, commit: string, base: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`;
  const output = createWriteStream(unfinished, { flags: 'wx' });
  const failed = once(output, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  const write = async (chunk: Buffer | string) => {
    if (!output.write(chunk)) await Promise.race([once(output, 'drain'), failed]);
  };
  try {
    await write(`# v2 git bundle\n-${base} base\n${commit} refs/plinth/checkpoint\n\n`);
    await requireGit(folder, ['pack-objects', '--revs', '--thin', '--delta-base-offset', '--stdout', '--quiet'], {
      input: `${commit}\n^${base}\n`,
      onOutput: write,
    });
    output.end();
    await Promise.race([once(output, 'close'), failed]);
    await rename(unfinished, file);
  } catch (error) {
    output.destroy();
    await rm(unfinished, { force: true });
    throw error;
  }
}

/**
 * Stores the bundle's objects after git has checked them, including that none refers to a missing object. Returns the
 * commit.
 */
export async function readBundle(folder: string, file: string, maxBytes: number): Promise<string> {
  const handle = await openFile(file);
  try {
    const { commit, prerequisites, packAt } = await readHeader(handle, maxBytes);
    for (const id of prerequisites) {
      const found = await runGit(folder, ['cat-file', '-e', `${id}^{commit}`]);
      if (found.status !== 0)
        throw new BundleRefused('The bundle requires a commit that the repository does not have.');
    }
    const stored = await runGit(
      folder,
      ['index-pack', '--stdin', '--fix-thin', '--strict', `--max-input-size=${maxBytes}`],
      {
        input: handle.createReadStream({ start: packAt, autoClose: false }),
        maxFileBytes: 2 * maxBytes + 1024 * 1024,
      },
    );
    if (stored.end !== 'exited' || stored.status !== 0) throw new BundleRefused('The bundle is corrupt or too large.');
    return commit;
  } finally {
    await handle.close();
  }
}

/**
 * Opens the file once, and only if it is a regular file with a single link. Otherwise its author could have replaced it
 * with a link to one of our files, or with a pipe that blocks forever.
 */
async function openFile(file: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new BundleRefused(`The bundle can't be opened (${error.code}).`);
    },
  );
  const found = await handle.stat();
  if (found.isFile() && found.nlink === 1) return handle;
  await handle.close();
  throw new BundleRefused('The bundle is not a regular file.');
}

interface Header {
  readonly commit: string;
  readonly prerequisites: readonly string[];
  readonly packAt: number;
}

/**
 * Parses a header of this form. It ends with an empty line and is followed by the pack.
 *
 *     # v2 git bundle
 *     -<id> a commit that the reader already has
 *     <id> refs/heads/main
 */
async function readHeader(handle: FileHandle, maxBytes: number): Promise<Header> {
  const { size } = await handle.stat();
  if (size > maxBytes) throw new BundleRefused('The bundle is too large.');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  const start = buffer.subarray(0, bytesRead);
  const end = start.indexOf('\n\n');
  const [signature, ...lines] = start.subarray(0, Math.max(end, 0)).toString('latin1').split('\n');
  const isKnown = signature === '# v2 git bundle' || signature === '# v3 git bundle';
  const refs = lines.flatMap((line) => /^([0-9a-f]{40}) refs\//.exec(line)?.[1] ?? []);
  const prerequisites = lines.flatMap((line) => /^-([0-9a-f]{40})( |$)/.exec(line)?.[1] ?? []);
  const capabilities = lines.filter((line) => line === '@object-format=sha1');
  const [commit] = refs;
  const isWhole = refs.length + prerequisites.length + capabilities.length === lines.length;
  if (!isKnown || !isWhole || commit === undefined || refs.length !== 1 || prerequisites.length > 100)
    throw new BundleRefused('The file is not a bundle with one ref.');
  return { commit, prerequisites, packAt: end + 2 };
}
