// The part of the tar format that archives use: plain files. Files with names of any length and in any script are written,
// but only those with short names are read. Links, folders and extensions are rejected, so an archive can't make its
// reader write to unexpected places or keep a huge header in memory.
import { ArchiveError } from './archive-error.ts';
import type { PackedFile } from './packed-file.ts';

const blockSize = 512;

/** An entry's content must be read completely before the next entry is requested. */
export interface TarEntry {
  readonly name: string;
  readonly size: number;
  readonly content: AsyncIterable<Buffer>;
}

export const tarEnd = Buffer.alloc(2 * blockSize);

export const padEntry = (size: number): Buffer => Buffer.alloc((blockSize - (size % blockSize)) % blockSize);

interface TarFields {
  readonly mode?: number;
  readonly modifiedAt?: Date;
  /** `0` is a regular file, `x` describes the next entry. */
  readonly type?: '0' | 'x';
}

/** By default, the header of a regular file that only its owner may read. */
export function buildTarHeader(
  name: string,
  size: number,
  { mode = 0o600, modifiedAt = new Date(0), type = '0' }: TarFields = {},
): Buffer {
  const header = Buffer.alloc(blockSize);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const seconds = Math.floor(modifiedAt.getTime() / 1000);
  header.write(name, 0, 100, 'ascii');
  header.write(`${octal(mode, 7)}${octal(0, 7)}${octal(0, 7)}${octal(size, 11)}${octal(seconds, 11)}`, 100, 'ascii');
  header.write(type, 156, 'ascii');
  header.write('ustar\x0000', 257, 'ascii');
  header.write(`${octal(sumHeader(header), 6)} `, 148, 'ascii');
  return header;
}

/** Packs files that everybody may read, with names of any length and in any script. */
export async function* packTar(files: AsyncIterable<PackedFile>): AsyncGenerator<Buffer> {
  for await (const { path, content, modifiedAt } of files) {
    const isShort = /^[\x20-\x7e]{1,100}$/.test(path);
    if (!isShort) yield* packPath(path);
    // Programs that ignore the path before it write the file under this name.
    const name = isShort
      ? path
      : path
          .replace(/[^\x20-\x7e]/g, '_')
          .slice(0, 99)
          .replace(/\/$/, '_');
    yield buildTarHeader(name, content.length, { mode: 0o644, modifiedAt });
    yield content;
    yield padEntry(content.length);
  }
  yield tarEnd;
}

/** An extended header of POSIX. Example, with its own length in front: `23 path=src/Größe.ts\n`. */
function* packPath(path: string): Generator<Buffer> {
  const field = ` path=${path}\n`;
  const bytes = Buffer.byteLength(field);
  const digits = [1, 2, 3, 4].find((count) => String(bytes + count).length === count) ?? 0;
  const record = Buffer.from(`${bytes + digits}${field}`);
  yield buildTarHeader('PaxHeader', record.length, { type: 'x' });
  yield record;
  yield padEntry(record.length);
}

export async function* readTar(bytes: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const reader = createByteReader(bytes);
  try {
    for (;;) {
      const header = await reader.readExactly(blockSize);
      if (header.every((byte) => byte === 0)) return await expectZeros(reader);
      const { name, size } = parseHeader(header);
      yield { name, size, content: readContent(reader, size) };
      await reader.readExactly(padEntry(size).length);
    }
  } finally {
    await reader.close();
  }
}

async function* readContent(reader: ByteReader, size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; ) {
    const part = await reader.readSome(left);
    if (part === undefined) throw truncated();
    left -= part.length;
    yield part;
  }
}

/** The checksum is computed as if its own field contained spaces. */
const sumHeader = (header: Buffer): number =>
  header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);

function parseHeader(header: Buffer): { name: string; size: number } {
  const textAt = (start: number, end: number) => header.toString('latin1', start, end);
  const numberAt = (start: number, end: number) => {
    const [, digits] = /^([0-7]+)[\0 ]*$/.exec(textAt(start, end)) ?? [];
    return digits === undefined ? undefined : Number.parseInt(digits, 8);
  };
  const size = numberAt(124, 136);
  if (textAt(257, 262) !== 'ustar' || numberAt(148, 156) !== sumHeader(header) || size === undefined)
    throw new ArchiveError('it is not a tar file, or it is damaged');
  const name = textAt(0, 100).replace(/\0.*$/s, '');
  const isPlainFile = textAt(156, 157) === '0' && header[345] === 0;
  if (!isPlainFile || !/^[\w./-]+$/.test(name))
    throw new ArchiveError('it contains an entry that is not a regular file: a link, a folder or an extension');
  return { name, size };
}

async function expectZeros(reader: ByteReader): Promise<void> {
  for (let part = await reader.readSome(blockSize); part !== undefined; part = await reader.readSome(blockSize))
    if (part.some((byte) => byte !== 0)) throw new ArchiveError('it contains data after its end');
}

const truncated = () => new ArchiveError('it is truncated');

type ByteReader = ReturnType<typeof createByteReader>;

function createByteReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  /** Returns between one and `max` bytes, or undefined at the end. */
  const readSome = async (max: number): Promise<Buffer | undefined> => {
    while (rest.length === 0) {
      const next = await chunks.next();
      if (next.done) return undefined;
      rest = next.value;
    }
    const part = rest.subarray(0, max);
    rest = rest.subarray(part.length);
    return part;
  };
  const readExactly = async (size: number): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for (let missing = size; missing > 0; ) {
      const part = await readSome(missing);
      if (part === undefined) throw truncated();
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  };
  return { readSome, readExactly, close: async () => void (await chunks.return?.()) };
}
