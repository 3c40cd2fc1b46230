// Owns the tools with which the assistant reads and changes the app's files.
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { findKeys } from '../../../core/turns/keys.ts';
import { ToolError } from '../../../core/turns/tools.ts';
import { applyEdit, describeElision, describeTooLarge, showLines } from '../../../kit/text-edit/apply.ts';
import { searchText } from '../../../kit/text-edit/search.ts';
import { type BuilderTool, defineTool, type ToolContext } from './tool.ts';

const path = z.string().min(1).max(400).describe('For example public/index.html');

const maxListed = 1_000;

const listFiles = defineTool({
  name: 'list_files',
  description: 'Lists the paths and sizes of the files of the app.',
  parameters: z.object({ prefix: z.string().max(400).optional().describe('Only paths that begin so') }),
  async run({ prefix = '' }, { db, access, draft }) {
    const files = (await draft.listFiles(db, access)).filter((file) => file.path.startsWith(prefix));
    if (files.length === 0) return prefix === '' ? 'The app has no files.' : 'No path begins so.';
    const lines = files.slice(0, maxListed).map((file) => `${file.path} (${file.size} bytes)`);
    if (files.length > maxListed)
      lines.push(`Cut: ${files.length - maxListed} more files. List them with a longer prefix.`);
    return lines.join('\n');
  },
});

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
    const text = await getText(context, path);
    const lines = text.split('\n');
    const wanted = lines.slice(from_line - 1, to_line ?? lines.length);
    if (wanted.length === 0) throw new ToolError(`The file has only ${lines.length} lines.`);
    return showLines(wanted, from_line, lines.length);
  },
});

const maxBatch = { files: 50, bytes: 1024 * 1024 };
const maxSearch = { fileBytes: 1024 * 1024, totalBytes: 20 * 1024 * 1024, matches: 100, lineLength: 300 };

const searchFiles = defineTool({
  name: 'search_files',
  description:
    'Finds the lines of all text files that contain a text. In the text, * stands for anything within the line. Case matters unless ignore_case is set.',
  parameters: z.object({
    text: z.string().min(1).max(200),
    prefix: z.string().max(400).optional().describe('Only files whose path begins so'),
    ignore_case: z.boolean().optional(),
  }),
  async run({ text, prefix = '', ignore_case = false }, { db, access, draft }) {
    if (/^\**$/.test(text)) throw new ToolError('The text must contain something beside *.');
    const files = (await draft.listFiles(db, access)).filter((file) => file.path.startsWith(prefix));
    const { batches, skipped } = selectFiles(files);
    const lines: string[] = [];
    for (const paths of batches) {
      if (lines.length === maxSearch.matches) break;
      for (const [path, file] of await draft.scanFiles(db, access, paths)) {
        if (!('text' in file) || lines.length === maxSearch.matches) continue;
        await setImmediate(); // searching blocks the process, which has other turns to run
        for (const match of searchText(file.text, text, ignore_case, maxSearch.matches - lines.length))
          lines.push(`${path}:${match.line}: ${match.text.slice(0, maxSearch.lineLength)}`);
      }
    }
    if (lines.length === maxSearch.matches) lines.push('Cut: there may be more. Search for a longer text.');
    if (skipped > 0) lines.push(`Not searched: ${skipped} files, because they are too large.`);
    return lines.length === 0 ? 'No line contains it.' : lines.join('\n');
  },
});

/** The paths to search, in batches that are read at once. */
function selectFiles(files: readonly { path: string; size: number }[]): { batches: string[][]; skipped: number } {
  let total = 0;
  let skipped = 0;
  let batch = { paths: [] as string[], bytes: 0 };
  const batches = [batch.paths];
  for (const { path, size } of files) {
    if (size > maxSearch.fileBytes || total + size > maxSearch.totalBytes) {
      skipped += 1;
      continue;
    }
    if (batch.paths.length === maxBatch.files || batch.bytes + size > maxBatch.bytes) {
      batch = { paths: [], bytes: 0 };
      batches.push(batch.paths);
    }
    batch.paths.push(path);
    batch.bytes += size;
    total += size;
  }
  return { batches, skipped };
}

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
    if (Buffer.byteLength(text) > maxEdit.fileBytes)
      throw new ToolError(
        'Files above 1 MiB can not be edited. Put what you change into a smaller file of its own, or replace the whole file with write_file.',
      );
    try {
      const replacement = { oldText: old_text, newText: new_text, replaceAll: replace_all };
      const edited = applyEdit(text, replacement, context.files.maxFileBytes); // a character has at least one byte
      if ('refusal' in edited) throw new ToolError(edited.refusal);
      context.editFailures.delete(path);
      return write(context, path, edited.text, edited.notes);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const failures = (context.editFailures.get(path) ?? 0) + 1;
      context.editFailures.set(path, failures);
      if (failures < 2) throw error;
      const lines = text.split('\n');
      throw new ToolError(
        `${error.message}\n\nThis is the second failed edit of this file in a row. Its present text:\n${showLines(lines, 1, lines.length)}`,
      );
    }
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
    const existing = await findFile(context, path);
    if (existing === undefined) return write(context, path, content, ['Written.']);
    if (!replaces_whole_file)
      throw new ToolError(
        'The file exists. Change it with edit_file, or set replaces_whole_file if you give its complete new text.',
      );
    refuseElision(content, 'text' in existing ? existing.text : '');
    return write(context, path, content, ['Replaced the whole file.']);
  },
});

const deleteFile = defineTool({
  name: 'delete_file',
  description: 'Deletes a file.',
  parameters: z.object({ path }),
  async run({ path }, context) {
    if ((await findFile(context, path)) === undefined) throw notFound();
    context.draft.removeFile(path);
    return 'Deleted.';
  },
});

export const fileTools: readonly BuilderTool[] = [listFiles, readFile, searchFiles, editFile, writeFile, deleteFile];

const notFound = () => new ToolError('There is no file with this path. List the files to see which there are.');

function findFile({ db, access, draft, files }: ToolContext, path: string) {
  const fault = files.findPathFault(path);
  if (fault !== undefined) throw new ToolError(`The path ${fault}.`);
  return draft.readFile(db, access, path);
}

async function getText(context: ToolContext, path: string): Promise<string> {
  const file = await findFile(context, path);
  if (file === undefined) throw notFound();
  if ('text' in file) return file.text;
  throw new ToolError(`The file is not text (${file.binaryBytes} bytes).`);
}

function refuseElision(newText: string, oldText: string): void {
  const elision = describeElision(newText, oldText);
  if (elision !== undefined) throw new ToolError(elision);
}

const maxTurnBytes = 20 * 1024 * 1024;

function write({ draft, files }: ToolContext, path: string, text: string, notes: readonly string[]): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > files.maxFileBytes) throw new ToolError(describeTooLarge(files.maxFileBytes));
  if (draft.writtenBytes + bytes > maxTurnBytes)
    throw new ToolError('This turn has written 20 MiB, the most that it can. Finish with what there is.');
  draft.writeFile(path, text);
  const keys = findKeys(text).map(
    ({ line, kind }) =>
      `Warning: line ${line} seems to contain ${kind}. Everybody who opens the app can read it. Remove it, and tell the person.`,
  );
  return [...notes, ...keys].join('\n');
}
