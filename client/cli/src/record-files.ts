// Records in files: NDJSON, or CSV whose first row has the names of the fields.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { EntitySchemaDocument } from '../../sdk/src/index.ts';
import { parseCsv } from './csv.ts';
import { CommandError } from './exit.ts';
import { parseJson } from './values.ts';

export type RecordFields = Readonly<Record<string, unknown>>;

export const isCsv = (file: string): boolean => /\.csv$/i.test(file);

export function readRecords(file: string, schema: EntitySchemaDocument): AsyncIterable<RecordFields> {
  return isCsv(file) ? readCsv(file, schema) : readLines(file);
}

async function* readLines(file: string): AsyncGenerator<RecordFields> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    line += 1;
    if (text.trim() === '') continue;
    const record = parseJson(text, `Line ${line} of ${file}`);
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new CommandError(`Line ${line} of ${file} must be a JSON object.`, 'file_invalid');
    yield record as RecordFields;
  }
}

/** Empty cells are left out, so the field has its default. */
async function* readCsv(file: string, { properties = {} }: EntitySchemaDocument): AsyncGenerator<RecordFields> {
  let names: string[] | undefined;
  let nextLine = 1;
  for await (const cells of parseCsv(createReadStream(file, 'utf8'))) {
    const place = `Line ${nextLine} of ${file}`;
    nextLine += 1 + countLineBreaks(cells);
    if (names === undefined) {
      names = cells;
      continue;
    }
    if (cells.length === 1 && cells[0] === '') continue;
    if (cells.length !== names.length)
      throw new CommandError(
        `${place} has ${countOf(cells)}, but the first line has ${countOf(names)}. Put cells that contain commas in double quotes.`,
        'file_invalid',
      );
    const entries = names.map((name, index) => [name, cells[index] ?? ''] as const).filter(([, cell]) => cell !== '');
    yield Object.fromEntries(
      entries.map(([name, cell]) => [name, parseCell(cell, properties[name]?.type, `${place}, column ${name}`)]),
    );
  }
}

const countLineBreaks = (cells: readonly string[]): number =>
  cells.reduce((sum, cell) => sum + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0);

const countOf = ({ length }: readonly string[]): string => (length === 1 ? '1 cell' : `${length} cells`);

/** What a cell of each type must be. */
const expected: Readonly<Record<string, string>> = {
  integer: 'a whole number, such as 12',
  number: 'a number, such as 1.5',
  boolean: 'true or false',
  array: 'a list in JSON, such as [1, 2]',
  object: 'an object in JSON, such as {"a": 1}',
};

/** The schema says what a cell means: `12` is a text in a field of texts. */
function parseCell(cell: string, type: unknown, place: string): unknown {
  const types = [type].flat().map(String);
  if (type === undefined || types.includes('string')) return cell;
  const value = parseIfJson(cell);
  if (types.some((each) => isOfType(value, each))) return value;
  const wanted = types.flatMap((each) => expected[each] ?? []).join(' or ');
  throw new CommandError(`${place}: ${JSON.stringify(cell)} is not ${wanted || 'valid JSON'}.`, 'file_invalid');
}

/** Returns undefined if the text is not JSON. */
function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value has a type of JSON Schema. What the server knows better is left to it. */
function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'number' || type === 'boolean') return typeof value === type;
  return value !== undefined;
}
