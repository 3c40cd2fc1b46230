// The agent's tools for reading and changing the repository's files. They work on git trees rather than on files,
// so links, hooks and settings in the repository have no effect.
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { createFileTools } from '../../../../core/turns/file-tools.ts';
import { ToolError } from '../../../../core/turns/tools.ts';
import { PathRefused } from '../../../../kit/git/types.ts';
import { type CodingTool, changeTree, defineTool, type ToolContext } from './tool.ts';

const path = z.string().min(1).max(1_000).describe('From the top of the repository, for example src/index.js');
const folder = z.string().min(1).max(1_000).optional();

const maxListed = 1_000;

const listFiles = defineTool({
  name: 'list_files',
  description: 'Lists the paths and sizes of the files of the repository, or of one folder with all that is below it.',
  parameters: z.object({ path: folder.describe('Only this folder, for example src/pages') }),
  async run({ path }, { work }) {
    const wanted = path === undefined ? undefined : toFolder(path);
    const entries = await refusePath(() => work.repository.listTree(work.tree, wanted, maxListed + 1));
    if (entries.length === 0) return 'There are no files.';
    const lines = entries
      .slice(0, maxListed)
      .map(({ path, kind, size_bytes }) => `${path} (${kind === 'file' ? `${size_bytes} bytes` : kind})`);
    if (entries.length > maxListed)
      lines.push(`Cut: there are more than ${maxListed} files. List one folder, or use search.`);
    return lines.join('\n');
  },
});

/** Turns `./src/` into `src`, and the repository's root into undefined. */
function toFolder(path: string): string | undefined {
  const trimmed = path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  return trimmed === '' || trimmed === '.' ? undefined : trimmed;
}

const maxHits = 100;

const search = defineTool({
  name: 'search',
  description:
    'Finds the lines of all text files that contain a text, or that match a POSIX extended regular expression if is_regex is set.',
  parameters: z.object({
    text: z.string().min(1).max(500),
    path: folder.describe('Only this file or folder'),
    is_regex: z.boolean().optional(),
    ignore_case: z.boolean().optional(),
  }),
  async run({ text, path, is_regex = false, ignore_case = false }, { work }) {
    if (text.includes('\n')) throw new ToolError('The text must be within one line.');
    const wanted = path === undefined ? undefined : toFolder(path);
    const options = { syntax: is_regex ? 'extended' : 'fixed', ignoreCase: ignore_case, maxHits } as const;
    const where = wanted === undefined ? options : { ...options, path: wanted };
    const found = await refusePath(() => work.repository.search(work.tree, text, where));
    if (found.outcome === 'invalid_pattern') throw new ToolError(`The expression is not valid: ${found.reason}`);
    const lines = found.hits.map(({ path, line, text }) => `${path}:${line}: ${text.slice(0, 300)}`);
    if (!found.isComplete) lines.push('Cut: there may be more. Search for a longer text, or in one folder.');
    return lines.length === 0 ? 'No line contains it.' : lines.join('\n');
  },
});

const maxFileBytes = 1024 * 1024;
const maxTurnMib = 50;

const { readFile, editFile, writeFile, deleteFile } = createFileTools(path, (context: ToolContext) => {
  const { work, editFailures, log } = context;
  const readBlob = (path: string) => refusePath(() => work.repository.readBlob(work.tree, path, maxFileBytes));
  return {
    maxFileBytes,
    maxTurnMib,
    writtenBytes: work.writtenBytes,
    editFailures,
    readers: 'Everybody who can read the repository',
    async read(path) {
      const file = await readBlob(path);
      if (file.outcome === 'missing') return undefined;
      if (file.outcome === 'not_a_file') throw notAFile(file.kind);
      if (file.outcome === 'too_large')
        return {
          notText: `The file has ${file.size_bytes} bytes. Files above 1 MiB can be read with run_command only.`,
        };
      if (!isUtf8(file.content) || file.content.includes(0))
        return { notText: `The file is not text (${file.content.length} bytes).` };
      return { text: file.content.toString() };
    },
    async write(path, text) {
      const content = Buffer.from(text);
      await refusePath(() => changeTree(context, [{ path, content }]));
      work.writtenBytes += content.length;
      await log(`Wrote ${path}`);
    },
    async remove(path) {
      const existing = await readBlob(path);
      if (existing.outcome === 'missing') return false;
      if (existing.outcome === 'not_a_file' && existing.kind !== 'symlink') throw notAFile(existing.kind);
      await changeTree(context, [{ path, content: null }]);
      await log(`Deleted ${path}`);
      return true;
    },
  };
});

export const fileTools: readonly CodingTool[] = [listFiles, readFile, search, editFile, writeFile, deleteFile];

const notAFile = (kind: string) =>
  new ToolError(`This is a ${kind}, not a file. These tools read and write files only.`);

async function refusePath<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PathRefused) throw new ToolError(error.message);
    throw error;
  }
}
