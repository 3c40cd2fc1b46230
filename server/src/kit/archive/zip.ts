// Writes zip archives without the extension for large files: less than 65,536 files, and less than 4 GiB in all.
import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';
import type { PackedFile } from './packed-file.ts';

const compress = promisify(deflateRaw);

/** Each file is compressed by itself. The directory at the end says where each of them begins. */
export async function* packZip(files: AsyncIterable<PackedFile>): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  for await (const file of files) {
    const compressed = await compress(file.content, { level: 1 });
    const name = Buffer.from(file.path);
    const shared = describeFile(file, compressed.length, name.length);
    const header = Buffer.concat([numbers([4, 0x04034b50]), shared, numbers([2, 0]), name]);
    directory.push(Buffer.concat([numbers([4, 0x02014b50], [2, madeOnUnix]), shared, placeFile(offset), name]));
    yield header;
    yield compressed;
    offset += header.length + compressed.length;
  }
  const entries = Buffer.concat(directory);
  yield entries;
  const count = directory.length;
  yield numbers([4, 0x06054b50], [4, 0], [2, count], [2, count], [4, entries.length], [4, offset], [2, 0]);
}

const version = 20;
const madeOnUnix = (3 << 8) | version;
const namesAreUtf8 = 1 << 11;
const deflated = 8;

/** What the file's own header and the directory both contain. */
function describeFile({ content, modifiedAt }: PackedFile, compressedBytes: number, nameBytes: number): Buffer {
  const [time, day] = toDosTime(modifiedAt);
  return numbers(
    [2, version],
    [2, namesAreUtf8],
    [2, deflated],
    [2, time],
    [2, day],
    [4, crc32(content)],
    [4, compressedBytes],
    [4, content.length],
    [2, nameBytes],
  );
}

/** What only the directory contains: no extra field, comment or disk, a regular file that everybody may read. */
const placeFile = (offset: number): Buffer =>
  numbers([2, 0], [2, 0], [2, 0], [2, 0], [4, 0o100644 * 0x10000], [4, offset]);

/** The format has two-second steps from 1980 on, and no time zone: this is UTC. */
function toDosTime(at: Date): readonly [time: number, day: number] {
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  const day = (Math.max(0, at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  return [time, day];
}

/** Little-endian numbers, each with its width in bytes. */
function numbers(...all: readonly (readonly [width: 2 | 4, value: number])[]): Buffer {
  const bytes = Buffer.alloc(all.reduce((sum, [width]) => sum + width, 0));
  let at = 0;
  for (const [width, value] of all) at = bytes.writeUIntLE(value, at, width);
  return bytes;
}
