// Owns reading the location file that the ad platform publishes (CSV): one record per location, read as a stream. What can't be
// read is refused with the number of its line.
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Place } from './bundled.ts';

/** The file can't be imported. The message says why, and in which line. */
export class LocationFileError extends Error {}

const columns = [
  'criteria id',
  'name',
  'canonical name',
  'parent id',
  'country code',
  'target type',
  'status',
] as const;
type Column = (typeof columns)[number];

/** A place as the platform describes it: without other names, codes and how many people live there. */
export interface PlatformLocation extends Omit<Place, 'reach' | 'codes' | 'otherNames'> {
  readonly isActive: boolean;
}

/** No record of the platform comes near it. A file that is something else may be one line of many gigabytes. */
const maxLineLength = 10_000;

/** Adds the file's bytes to `hash` while they are read. */
export async function* readPlatformFile(file: string, hash: Hash): AsyncGenerator<PlatformLocation> {
  const seen = new Set<number>();
  let positions: ReadonlyMap<Column, number> | undefined;
  let line = 0;
  for await (const text of readLines(file, hash)) {
    line += 1;
    if (text === '') continue;
    const fields = splitRecord(text);
    if (fields === undefined) throw new LocationFileError(`line ${line} is not CSV`);
    if (positions === undefined) {
      positions = findColumns(fields);
      continue;
    }
    const location = readLocation(fields, positions, line);
    if (seen.has(location.id)) throw new LocationFileError(`line ${line} repeats the id of an earlier line`);
    seen.add(location.id);
    yield location;
  }
  if (positions === undefined) throw new LocationFileError('it is empty');
}

async function* readLines(file: string, hash: Hash): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk);
    const lines = (rest + decode(decoder, chunk)).split(/\r?\n/);
    rest = lines.pop() ?? '';
    if (rest.length > maxLineLength) throw new LocationFileError('it has a line that is too long for CSV');
    yield* lines;
  }
  yield rest + decode(decoder);
}

function decode(decoder: { decode(chunk?: Buffer, options?: { stream: boolean }): string }, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw new LocationFileError('it is not text in UTF-8. If it is a ZIP archive, unpack it first');
  }
}

/** `1006094,"Paris","Paris,Ile-de-France,France"` → three fields. Undefined if a quote is not closed. */
function splitRecord(line: string): string[] | undefined {
  const field = /("(?:[^"]|"")*"|[^",]*)(,|$)/y;
  const fields: string[] = [];
  for (let match = field.exec(line); match !== null; match = field.exec(line)) {
    const [, text = '', end] = match;
    fields.push(text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text);
    if (end === '') return fields;
  }
  return undefined;
}

function findColumns(header: readonly string[]): ReadonlyMap<Column, number> {
  const names = header.map((name) => name.trim().toLowerCase());
  const missing = columns.filter((column) => !names.includes(column));
  if (missing.length > 0) throw new LocationFileError(`its first line lacks the columns: ${missing.join(', ')}`);
  return new Map(columns.map((column) => [column, names.indexOf(column)]));
}

function readLocation(
  fields: readonly string[],
  positions: ReadonlyMap<Column, number>,
  line: number,
): PlatformLocation {
  const read = (column: Column): string => fields[positions.get(column) ?? 0]?.trim() ?? '';
  const readMatching = (column: Column, form: RegExp): string => {
    const value = read(column);
    if (!form.test(value)) throw new LocationFileError(`line ${line} has no valid ${column}`);
    return value;
  };
  const parent = readMatching('parent id', /^\d{0,15}$/);
  return {
    id: Number(readMatching('criteria id', /^\d{1,15}$/)),
    parent_id: parent === '' ? null : Number(parent),
    country_code: readMatching('country code', /^([A-Z]{2})?$/),
    target_type: readMatching('target type', /./),
    name: readMatching('name', /./),
    canonical_name: readMatching('canonical name', /./),
    isActive: readMatching('status', /./).toLowerCase() === 'active',
  };
}
