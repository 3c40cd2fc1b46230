// An agent's tools for reading and changing single files. A `FileSpace` does the reading and writing, wherever the
// files are stored.
import { z } from 'zod';
import { applyEdit, describeElision, describeTooLarge, showLines } from '../../kit/text-edit/apply.ts';
import { findKeys } from './keys.ts';
import { type AgentTool, ToolError } from './tools.ts';

/** The files that an agent works on. Its functions throw a ToolError if the model makes a mistake. */
export interface FileSpace {
  readonly maxFileBytes: number;
  /** The maximum size that a turn may write, and the number of bytes that this turn has written so far. */
  readonly maxTurnMib: number;
  readonly writtenBytes: number;
  /** The number of consecutive failed edits to each path. */
  readonly editFailures: Map<string, number>;
  /** Who could read a key that was written to a file, in words for the model. */
  readonly readers: string;
  /** Undefined if the file does not exist. `notText` is the reason why its text can't be read. */
  read(path: string): Promise<{ readonly text: string } | { readonly notText: string } | undefined>;
  write(path: string, text: string): Promise<void>;
  /** Returns whether the file existed. */
  remove(path: string): Promise<boolean>;
}

const maxEdit = { characters: 100_000, fileBytes: 1024 * 1024 };

/** `path` is the schema for paths. */
export function createFileTools<Context>(path: z.ZodType<string>, open: (context: Context) => FileSpace) {
  const defineTool = <Parameters extends z.ZodType>({
    run,
    ...tool
  }: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Parameters;
    run(input: z.output<Parameters>, space: FileSpace): Promise<string>;
  }): AgentTool<Context> => ({ ...tool, run: (input, context) => run(input, open(context)) });

  return {
    readFile: defineTool({
      name: 'read_file',
      description: 'Reads a file, or some of its lines. Read a file before you edit it.',
      parameters: z.object({
        path,
        from_line: z.int().min(1).optional().describe('The first line to read; the file begins with line 1'),
        to_line: z.int().min(1).optional(),
      }),
      async run({ path, from_line = 1, to_line }, space) {
        if (to_line !== undefined && to_line < from_line) throw new ToolError('to_line must be from_line or more.');
        const lines = (await getText(space, path)).split('\n');
        const wanted = lines.slice(from_line - 1, to_line ?? lines.length);
        if (wanted.length === 0) throw new ToolError(`The file has only ${lines.length} lines.`);
        return showLines(wanted, from_line, lines.length);
      },
    }),

    editFile: defineTool({
      name: 'edit_file',
      description:
        'Replaces a part of a file. The ordinary way to change a file. old_text must occur exactly once, unless replace_all is set; give enough lines around the change.',
      parameters: z.object({
        path,
        old_text: z.string().min(1).max(maxEdit.characters).describe('As it stands in the file, with its indentation'),
        new_text: z.string().max(maxEdit.characters).describe('In full: nothing may be left out'),
        replace_all: z.boolean().optional(),
      }),
      async run({ path, old_text, new_text, replace_all = false }, space) {
        const text = await getText(space, path);
        if (Buffer.byteLength(text) > maxEdit.fileBytes) throw tooLargeToEdit();
        const edit = { oldText: old_text, newText: new_text, replaceAll: replace_all };
        const edited = applyEdit(text, edit, space.maxFileBytes); // a character takes at least one byte
        if ('refusal' in edited) throw countFailure(space, path, text, edited.refusal);
        const answer = await write(space, path, edited.text, edited.notes);
        space.editFailures.delete(path);
        return answer;
      },
    }),

    writeFile: defineTool({
      name: 'write_file',
      description:
        'Writes a new file. For a file that exists, use edit_file; only to replace all of it, set replaces_whole_file and give its complete new text.',
      parameters: z.object({
        path,
        content: z.string().describe('The complete text: nothing may be left out'),
        replaces_whole_file: z.boolean().optional(),
      }),
      async run({ path, content, replaces_whole_file = false }, space) {
        const existing = await space.read(path);
        if (existing === undefined) return write(space, path, content, ['Written.']);
        if (!replaces_whole_file)
          throw new ToolError(
            'The file exists. Change it with edit_file, or set replaces_whole_file if you give its complete new text.',
          );
        const elision = describeElision(content, 'text' in existing ? existing.text : '');
        if (elision !== undefined) throw new ToolError(elision);
        return write(space, path, content, ['Replaced the whole file.']);
      },
    }),

    deleteFile: defineTool({
      name: 'delete_file',
      description: 'Deletes a file.',
      parameters: z.object({ path }),
      async run({ path }, space) {
        if (!(await space.remove(path))) throw notFound();
        return 'Deleted.';
      },
    }),
  };
}

const notFound = () => new ToolError('There is no file with this path. List the files to see which there are.');

const tooLargeToEdit = () =>
  new ToolError(
    'Files above 1 MiB cannot be edited. Put what you change into a smaller file of its own, or replace the whole file with write_file.',
  );

async function getText(space: FileSpace, path: string): Promise<string> {
  const file = await space.read(path);
  if (file === undefined) throw notFound();
  if ('notText' in file) throw new ToolError(file.notText);
  return file.text;
}

/** After two or more consecutive failures, the error includes the file's text. */
function countFailure({ editFailures }: FileSpace, path: string, text: string, refusal: string): ToolError {
  const failures = (editFailures.get(path) ?? 0) + 1;
  editFailures.set(path, failures);
  if (failures < 2) return new ToolError(refusal);
  const lines = text.split('\n');
  return new ToolError(
    `${refusal}\n\nThis is the second failed edit of this file in a row. Its present text:\n${showLines(lines, 1, lines.length)}`,
  );
}

async function write(space: FileSpace, path: string, text: string, notes: readonly string[]): Promise<string> {
  const bytes = Buffer.byteLength(text);
  if (bytes > space.maxFileBytes) throw new ToolError(describeTooLarge(space.maxFileBytes));
  if (space.writtenBytes + bytes > space.maxTurnMib * 1024 * 1024)
    throw new ToolError(
      `This turn has written ${space.maxTurnMib} MiB, the most that it can. Finish with what there is.`,
    );
  await space.write(path, text);
  const keys = findKeys(text).map(
    ({ line, kind }) =>
      `Warning: line ${line} seems to contain ${kind}. ${space.readers} can read it. Remove it, and tell the person.`,
  );
  return [...notes, ...keys].join('\n');
}
