// The files of the built console. They are read into memory and checked when the process starts, because an upgrade
// replaces the folder while the process still runs.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { z } from 'zod';
import { Answer } from '../../kit/http/answer.ts';
import { type Encoding, hasTag, listEncodings } from '../../kit/http/response/conditional.ts';

/** The list that the build of the console writes. Its paths are relative to the folder. */
const FileList = z.array(
  z.object({
    path: z.string(),
    sha256: z.string(),
    bytes: z.int(),
    encodings: z.object({ br: z.string().optional(), gzip: z.string().optional() }),
  }),
);

interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly compressed: Readonly<Partial<Record<Encoding, Buffer>>>;
}

export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

/** Returns undefined if the console is not built. A damaged build is an error, because its pages would not load. */
export function readBuiltFiles(folder: string): BuiltFiles | undefined {
  const list = readIfExists(join(folder, 'files.json'));
  if (list === undefined) return undefined;
  const files = FileList.parse(JSON.parse(list.toString()));
  return new Map(files.map((file) => [file.path, readFile(folder, file)]));
}

function readFile(folder: string, { path, sha256, encodings }: z.output<typeof FileList>[number]): BuiltFile {
  const plain = readIfExists(join(folder, path));
  if (plain === undefined || createHash('sha256').update(plain).digest('hex') !== sha256)
    throw new Error(`The console in ${folder} is damaged: ${path} is not the file that was built. Build it again.`);
  const { br, gzip } = encodings;
  return {
    type: contentTypes[extname(path)] ?? 'application/octet-stream',
    // The tag is weak, because the compressed and uncompressed forms share it.
    etag: `W/"${sha256.slice(0, 32)}"`,
    plain,
    compressed: {
      ...(br !== undefined && { br: readFileSync(join(folder, br)) }),
      ...(gzip !== undefined && { gzip: readFileSync(join(folder, gzip)) }),
    },
  };
}

function readIfExists(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Responds with a 200 and the file, compressed if the client accepts it, or a 304 if the client already has it. */
export function answerWithFile(
  { type, etag, plain, compressed }: BuiltFile,
  sent: RequestHeaders,
  headers: Readonly<Record<string, string>>,
): Answer<Buffer> {
  const common = { ...headers, etag, vary: 'Accept-Encoding' };
  if (hasTag(sent['if-none-match'], etag)) return new Answer(Buffer.alloc(0), { headers: common }, 304);
  const encoding = listEncodings(sent['accept-encoding']).find((name) => compressed[name] !== undefined);
  const body = encoding === undefined ? plain : (compressed[encoding] as Buffer);
  return new Answer(body, {
    headers: { ...common, 'content-type': type, ...(encoding !== undefined && { 'content-encoding': encoding }) },
  });
}
