// The tools for reading and changing the app's files.
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { createFileTools } from '../../../core/turns/file-tools.ts';
import { ToolError } from '../../../core/turns/tools.ts';
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
        await setImmediate(); // searching blocks the process, which also runs other turns
        for (const match of searchText(file.text, text, ignore_case, maxSearch.matches - lines.length))
          lines.push(`${path}:${match.line}: ${match.text.slice(0, maxSearch.lineLength)}`);
      }
    }
    if (lines.length === maxSearch.matches) lines.push('Cut: there may be more. Search for a longer text.');
    if (skipped > 0) lines.push(`Not searched: ${skipped} files, because they are too large.`);
    return lines.length === 0 ? 'No line contains it.' : lines.join('\n');
  },
});

/** The paths to search, grouped into batches. Each batch is read with one call. */
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

const maxTurnMib = 20;

const { readFile, editFile, writeFile, deleteFile } = createFileTools(path, (context: ToolContext) => {
  const { db, access, draft, files, editFailures } = context;
  const findFile = (path: string) => {
    const fault = files.findPathFault(path);
    if (fault !== undefined) throw new ToolError(`The path ${fault}.`);
    return draft.readFile(db, access, path);
  };
  return {
    maxFileBytes: files.maxFileBytes,
    maxTurnMib,
    writtenBytes: draft.writtenBytes,
    editFailures,
    readers: 'Everybody who opens the app',
    async read(path) {
      const file = await findFile(path);
      return file === undefined || 'text' in file
        ? file
        : { notText: `The file is not text (${file.binaryBytes} bytes).` };
    },
    write: async (path, text) => draft.writeFile(path, text),
    async remove(path) {
      const isThere = (await findFile(path)) !== undefined;
      if (isThere) draft.removeFile(path);
      return isThere;
    },
  };
});

export const fileTools: readonly BuilderTool[] = [listFiles, readFile, searchFiles, editFile, writeFile, deleteFile];
