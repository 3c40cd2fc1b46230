// Owns the tools with which the agent reads and changes the files of the repository. They work on trees of git, not on files, so that
// links, hooks and settings in the repository have no effect.
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { findKeys } from '../../../../core/turns/keys.ts';
import { ToolError } from '../../../../core/turns/tools.ts';
import { PathRefused } from '../../../../kit/git/types.ts';
import { applyEdit, describeElision, describeTooLarge, showLines } from '../../../../kit/text-edit/apply.ts';
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

/** `./src/` → `src`; the top of the repository is undefined. */
function toFolder(path: string): string | undefined {
  const trimmed = path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '');
  return trimmed === '' || trimmed === '.' ? undefined : trimmed;
}

const readFile = defineTool({
  name: 'read_file',
  description: 'Reads a file, or some of its lines. Read a file before you edit it.',
  parameters: z.object({
    path,
    from_line: z.int().min(1).optional().describe('The first line to read; the file begins with line 1'),
    to_line: z.int().min(1).optional(),
  }),
  async run({ path, from_line = 1, to_line }, context) {
    if (to_line !== undefined && to_line < from_line) throw new ToolError('to_line must be from_line or more.');
    const lines = (await getText(context, path)).split('\n');
    const wanted = lines.slice(from_line - 1, to_line ?? lines.length);
    if (wanted.length === 0) throw new ToolError(`The file has only ${lines.length} lines.`);
    return showLines(wanted, from_line, lines.length);
  },
});

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

const maxEdit = { characters: 100_000, fileBytes: 1024 * 1024 };

const editFile = defineTool({
  name: 'edit_file',
  description:
    'Replaces a part of a file. The ordinary way to change a file. old_text must occur exactly once, unless replace_all is set; give enough lines around the change.',
  parameters: z.object({
    path,
    old_text: z.string().min(1).max(maxEdit.characters).describe('As it stands in the file, with its indentation'),
    new_text: z.string().max(maxEdit.characters).describe('In full: nothing may be left out'),
    replace_all: z.boolean().optional(),
  }),
  async run({ path, old_text, new_text, replace_all = false }, context) {
    const text = await getText(context, path);
    const edit = { oldText: old_text, newText: new_text, replaceAll: replace_all };
    const edited = applyEdit(text, edit, maxEdit.fileBytes); // a character has at least one byte
    if ('text' in edited) {
      const answer = await write(context, path, edited.text, edited.notes);
      context.editFailures.delete(path);
      return answer;
    }
    const failures = (context.editFailures.get(path) ?? 0) + 1;
    context.editFailures.set(path, failures);
    if (failures < 2) throw new ToolError(edited.refusal);
    const lines = text.split('\n');
    throw new ToolError(
      `${edited.refusal}\n\nThis is the second failed edit of this file in a row. Its present text:\n${showLines(lines, 1, lines.length)}`,
    );
  },
});

const writeFile = defineTool({
  name: 'write_file',
  description:
    'Writes a new file. For a file that exists, use edit_file; only to replace all of it, set replaces_whole_file and give its complete new text.',
  parameters: z.object({
    path,
    content: z.string().describe('The complete text: nothing may be left out'),
    replaces_whole_file: z.boolean().optional(),
  }),
  async run({ path, content, replaces_whole_file = false }, context) {
    const existing = await read(context, path);
    if (existing.outcome === 'missing') return write(context, path, content, ['Written.']);
    if (existing.outcome === 'not_a_file') throw notAFile(existing.kind);
    if (!replaces_whole_file)
      throw new ToolError(
        'The file exists. Change it with edit_file, or set replaces_whole_file if you give its complete new text.',
      );
    const old = existing.outcome === 'found' && isUtf8(existing.content) ? existing.content.toString() : '';
    const elision = describeElision(content, old);
    if (elision !== undefined) throw new ToolError(elision);
    return write(context, path, content, ['Replaced the whole file.']);
  },
});

const deleteFile = defineTool({
  name: 'delete_file',
  description: 'Deletes a file.',
  parameters: z.object({ path }),
  async run({ path }, context) {
    const existing = await read(context, path);
    if (existing.outcome === 'missing') throw notFound();
    if (existing.outcome === 'not_a_file' && existing.kind !== 'symlink') throw notAFile(existing.kind);
    await changeTree(context, [{ path, content: null }]);
    await context.log(`Deleted ${path}`);
    return 'Deleted.';
  },
});

export const fileTools: readonly CodingTool[] = [listFiles, readFile, search, editFile, writeFile, deleteFile];

const notFound = () => new ToolError('There is no file with this path. List the files to see which there are.');
const notAFile = (kind: string) =>
  new ToolError(`This is a ${kind}, not a file. These tools read and write files only.`);

/** Also what is larger than the tools read is found: as `too_large`. */
async function read({ work }: ToolContext, path: string) {
  return refusePath(() => work.repository.readBlob(work.tree, path, maxEdit.fileBytes));
}

async function getText(context: ToolContext, path: string): Promise<string> {
  const file = await read(context, path);
  if (file.outcome === 'missing') throw notFound();
  if (file.outcome === 'not_a_file') throw notAFile(file.kind);
  if (file.outcome === 'too_large')
    throw new ToolError(`The file has ${file.size_bytes} bytes. Files above 1 MiB can be read with run_command only.`);
  if (!isUtf8(file.content) || file.content.includes(0))
    throw new ToolError(`The file is not text (${file.content.length} bytes).`);
  return file.content.toString();
}

const maxTurnBytes = 50 * 1024 * 1024;

async function write(context: ToolContext, path: string, text: string, notes: readonly string[]): Promise<string> {
  const content = Buffer.from(text);
  if (content.length > maxEdit.fileBytes) throw new ToolError(describeTooLarge(maxEdit.fileBytes));
  if (context.work.writtenBytes + content.length > maxTurnBytes)
    throw new ToolError('This turn has written 50 MiB, the most that it can. Finish with what there is.');
  await refusePath(() => changeTree(context, [{ path, content }]));
  context.work.writtenBytes += content.length;
  await context.log(`Wrote ${path}`);
  const keys = findKeys(text).map(
    ({ line, kind }) =>
      `Warning: line ${line} seems to contain ${kind}. Everybody who can read the repository can read it. Remove it, and tell the person.`,
  );
  return [...notes, ...keys].join('\n');
}

async function refusePath<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PathRefused) throw new ToolError(error.message);
    throw error;
  }
}
