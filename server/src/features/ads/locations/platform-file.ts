// Reads the location file (CSV) that the ad platform publishes. The file is read as a stream, with one record
// per location. An unreadable record is reported with its line number.
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Place } from './bundled.ts';

/** Thrown if the file can't be imported. The message gives the reason and the line. */
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

/** A place as described by the platform, without alternative names, codes or population. */
export interface PlatformLocation extends Omit<Place, 'reach' | 'codes' | 'otherNames'> {
  readonly isActive: boolean;
}

/** Far longer than any platform record. A file in some other format could be a single line of many gigabytes. */
const maxLineLength = 10_000;

/** Adds the file's bytes to `hash` as they are read. */
export async function* readPlatformFile(file: string, hash: Hash): AsyncGenerator<PlatformLocation> {
  const seen = new Set<number>();
  let positions: ReadonlyMap<Column, number> | undefined;
  let line = 0;
  for await (const text of readLines(file, hash)) {
    line += 1;
    if (text === '') continue;
    const fields = splitRecord(text);
    if (fields === undefined) throw new LocationFileError(`line ${line} is not valid CSV`);
    if (positions === undefined) {
      positions = findColumns(fields);
      continue;
    }
    const location = readLocation(fields, positions, line);
    if (seen.has(location.id)) throw new LocationFileError(`line ${line} repeats an id from an earlier line`);
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
    if (rest.length > maxLineLength) throw new LocationFileError('it contains a line that is too long for CSV');
    yield* lines;
  }
  yield rest + decode(decoder);
}

function decode(decoder: { decode(chunk?: Buffer, options?: { stream: boolean }): string }, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw new LocationFileError('it is not valid UTF-8. If it is a ZIP archive, extract it first');
  }
}

/** Splits `1006094,"Paris","Paris,Ile-de-France,France"` into three fields. Undefined if a quote is not closed. */
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
  if (missing.length > 0) throw new LocationFileError(`its header row is missing columns: ${missing.join(', ')}`);
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
    if (!form.test(value)) throw new LocationFileError(`line ${line} has an invalid ${column}`);
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
