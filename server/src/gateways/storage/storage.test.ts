// Tests that both drivers give the same guarantees, using files in a folder and a bucket on a real S3 server.
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { httpResponse, startRawServer } from '../../../../sandbox/src/raw-server.ts';
import { startS3Sandbox } from '../../../../sandbox/src/s3.ts';
import { StorageUnavailable } from '../../kit/unavailable.ts';
import { openStorage, type StorageSettings } from './index.ts';

const sandbox = await startS3Sandbox();
const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-'));
afterAll(() => sandbox.close());

const toS3 = (endpoint: string, others: object = {}): StorageSettings => ({
  s3: {
    bucket: sandbox.bucket,
    endpoint,
    region: 'us-east-1',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'secret',
    checksums: 'when_required',
    pathStyle: true,
    ...others,
  },
});
const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

/** Yields pieces of different sizes, so the length is not known in advance. */
async function* generate(bytes: number, onPiece: (piece: Buffer) => void = () => {}) {
  for (let left = bytes; left > 0; ) {
    const piece = randomBytes(Math.min(left, 61 * kilobyte + 7));
    left -= piece.length;
    onPiece(piece);
    yield piece;
  }
}

const drivers: [string, StorageSettings][] = [
  ['a folder', { folder }],
  ['a bucket', toS3(sandbox.endpoint)],
  ['a bucket, with checksums', toS3(sandbox.endpoint, { checksums: 'when_supported' })],
];

describe.each(drivers)('objects in %s', (_, settings) => {
  const storage = openStorage(settings);
  afterAll(() => storage.close());
  const prefix = randomBytes(4).toString('hex');
  const read = async (key: string, range?: { start: number; end: number }) => {
    const found = await storage.get(`${prefix}/${key}`, range);
    return found && { size: found.size, text: (await buffer(found.content)).toString() };
  };
  const put = (key: string, content: string | Readable) =>
    storage.put(`${prefix}/${key}`, typeof content === 'string' ? Buffer.from(content) : content);

  it('are read as they were written', async () => {
    await put('a.txt', 'hello world');
    expect(await read('a.txt')).toEqual({ size: 11, text: 'hello world' });
    await put('deeper/and/deeper.txt', Readable.from([Buffer.from('from '), Buffer.from('a stream')]));
    expect(await read('deeper/and/deeper.txt')).toEqual({ size: 13, text: 'from a stream' });
  });

  it('may be empty', async () => {
    await put('empty', '');
    await put('empty-stream', Readable.from([]));
    for (const key of ['empty', 'empty-stream']) expect(await read(key)).toEqual({ size: 0, text: '' });
  });

  it('are read in part, with the size of the whole', async () => {
    await put('part', '0123456789');
    expect(await read('part', { start: 0, end: 0 })).toEqual({ size: 10, text: '0' });
    expect(await read('part', { start: 3, end: 5 })).toEqual({ size: 10, text: '345' });
    expect(await read('part', { start: 8, end: 500 })).toEqual({ size: 10, text: '89' });
    await expect(read('part', { start: 10, end: 11 })).rejects.toThrow(RangeError);
  });

  it('that do not exist are undefined, whether one, its folder or a part of it is asked for', async () => {
    expect(await read('none')).toBeUndefined();
    expect(await read('none/at/all')).toBeUndefined();
    expect(await read('none', { start: 0, end: 1 })).toBeUndefined();
    await put('file', 'x');
    expect(await read('file/below')).toBeUndefined();
    await put('folder/file', 'x');
    expect(await read('folder')).toBeUndefined();
  });

  it('are replaced as a whole, while a reader still gets the old one', async () => {
    await put('replaced', Readable.from(generate(3 * megabyte)));
    const before = await storage.get(`${prefix}/replaced`);
    await put('replaced', 'new');
    expect(await read('replaced')).toEqual({ size: 3, text: 'new' });
    expect(before && (await buffer(before.content)).length).toBe(3 * megabyte);
  });

  it('are removed, and those that do not exist are no error', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `many/${index}`);
    for (const key of keys) await put(key, key);
    await storage.remove([...keys, 'many/none'].map((key) => `${prefix}/${key}`));
    for (const key of keys) expect(await read(key)).toBeUndefined();
    await storage.remove([]);
  });

  it('may be large streams of unknown length', async () => {
    const [written, got] = [createHash('sha256'), createHash('sha256')];
    const size = 41 * megabyte + 3;
    await put(
      'large',
      Readable.from(
        generate(size, (piece) => void written.update(piece)),
        { objectMode: false },
      ),
    );
    const found = await storage.get(`${prefix}/large`);
    expect(found?.size).toBe(size);
    for await (const piece of found?.content ?? []) got.update(piece);
    expect(got.digest('hex')).toBe(written.digest('hex'));
  });

  it.each([
    ['fails', new Error('broken')],
    ['is destroyed', undefined],
  ])('do not exist if what they are written from %s halfway, and the old one stays', async (_, error) => {
    const cutAfter = (bytes: number): Readable => {
      let generated = 0;
      const content: Readable = Readable.from(
        generate(60 * megabyte, (piece) => {
          generated += piece.length;
          if (generated > bytes) content.destroy(error);
        }),
      );
      return content;
    };
    await put('kept', 'old');
    for (const bytes of [megabyte, 30 * megabyte]) {
      for (const key of ['cut', 'kept']) {
        const thrown = await put(key, cutAfter(bytes)).catch((thrown) => thrown);
        if (error === undefined) expect(thrown).toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
        else expect(thrown).toBe(error);
      }
    }
    expect(await read('cut')).toBeUndefined();
    expect(await read('kept')).toEqual({ size: 3, text: 'old' });
    expect(await sandbox.countUnfinishedUploads()).toBe(0);
    if ('folder' in settings) expect(readdirSync(join(folder, '.unfinished'))).toEqual([]);
  });

  it.each([
    '../x',
    'a/../../x',
    'a/..',
    '/etc/passwd',
    '',
    'a//b',
    'a/',
    './a',
    '.unfinished/x',
    'a\\b',
    'a\0b',
    'a b',
    'é',
  ])('have no key such as %j', async (key) => {
    const calls = [storage.put(key, Buffer.from('x')), storage.get(key), storage.remove([key])];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'an object has a malformed key' } });
  });

  it('have no key of more than 512 characters', async () => {
    await storage.put('x'.repeat(200), Buffer.from('x'));
    await expect(storage.put('x'.repeat(513), Buffer.from('x'))).rejects.toThrow('malformed key');
  });

  it('that nobody reads to the end hold nothing open once they are destroyed', async () => {
    await put('unread', Readable.from(generate(5 * megabyte)));
    for (let round = 0; round < 600; round += 1) (await storage.get(`${prefix}/unread`))?.content.destroy();
    expect(await read('unread')).toMatchObject({ size: 5 * megabyte });
  });
});

describe('a folder', () => {
  it('and its files are readable by the service only', async () => {
    await openStorage({ folder: join(folder, 'new') }).put('a/b/c', Buffer.from('x'));
    const modeOf = (path: string) => (statSync(join(folder, 'new', path)).mode & 0o777).toString(8);
    expect(['.', 'a', 'a/b', '.unfinished', 'a/b/c'].map(modeOf)).toEqual(['700', '700', '700', '700', '600']);
  });

  it('loses files that a crashed process left unfinished a day ago, and keeps younger ones', async () => {
    const own = join(folder, 'crashed');
    mkdirSync(join(own, '.unfinished'), { recursive: true });
    for (const name of ['old', 'young']) writeFileSync(join(own, '.unfinished', name), 'half');
    const yesterday = Date.now() / 1000 - 25 * 60 * 60;
    utimesSync(join(own, '.unfinished', 'old'), yesterday, yesterday);
    await openStorage({ folder: own }).put('a', Buffer.from('x'));
    await expect.poll(() => readdirSync(join(own, '.unfinished'))).toEqual(['young']);
  });

  it('that cannot be written to, or read, is unavailable', async () => {
    writeFileSync(join(folder, 'a-file'), '');
    const storage = openStorage({ folder: join(folder, 'a-file') });
    await expect(storage.put('a', Buffer.from('x'))).rejects.toThrow(StorageUnavailable);
    await expect(storage.put('a', Readable.from(['x']))).rejects.toThrow(/^object storage unavailable: E/);
    const looping = openStorage({ folder });
    symlinkSync('loop', join(folder, 'loop'));
    await expect(looping.get('loop')).rejects.toThrow(StorageUnavailable);
    symlinkSync('a-file', join(folder, 'link'));
    await expect(looping.get('link')).rejects.toThrow(StorageUnavailable);
  });

  it('has no object where a named pipe is, and does not wait for a writer', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    expect(await openStorage({ folder }).get('pipe')).toBeUndefined();
  });
});

describe('a bucket', () => {
  it('is asked with signed requests, for the bucket and region of the settings', async () => {
    const server = await startRawServer({
      address: '127.0.0.1',
      onData: (socket, arrived) => {
        if (/^(GET|PUT|DELETE) /.test(arrived)) socket.write(httpResponse('200 OK', ['ETag: "x"']));
      },
    });
    const storage = openStorage(toS3(`http://127.0.0.1:${server.port}`, { region: 'eu-central-1' }));
    await storage.put('a/b', Buffer.from('x'));
    (await storage.get('a/b'))?.content.destroy();
    await storage.remove(['a/b']);
    const heads = server.requests.filter((each) => /^(GET|PUT|DELETE) \/plinth\/a\/b\?/.test(each));
    expect(heads).toHaveLength(3);
    for (const head of heads) {
      expect(head).toMatch(
        /authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/s3\/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}/i,
      );
      expect(head).not.toContain('secret');
    }
    storage.close();
    await server.close();
  });

  const failures: [string, () => Promise<{ endpoint: string; close(): unknown }>][] = [
    [
      'cannot be reached',
      async () => {
        const { endpoint, close } = await answerAlways(() => {});
        await close();
        return { endpoint, close: () => {} };
      },
    ],
    ['hangs up', () => answerAlways((socket) => socket.destroy())],
    ['fails', () => answerAlways((socket) => socket.write(httpResponse('500 Internal Server Error')))],
    ['refuses us', () => answerAlways((socket) => socket.write(httpResponse('403 Forbidden')))],
    [
      'does not exist',
      () =>
        answerAlways((socket) =>
          socket.write(httpResponse('404 Not Found', [], '<Error><Code>NoSuchBucket</Code></Error>')),
        ),
    ],
  ];
  it.each(failures)('that %s is unavailable', async (_, start) => {
    const { endpoint, close } = await start();
    const storage = openStorage(toS3(endpoint));
    const calls = [
      storage.put('a', Buffer.from('x')),
      storage.put('a', Readable.from(generate(megabyte))),
      storage.put('a', Readable.from(generate(40 * megabyte))),
      storage.get('a'),
      storage.get('a', { start: 1, end: 2 }),
      storage.remove(['a']),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageUnavailable) });
    storage.close();
    await close();
  });

  it('that is silent is unavailable after bounded attempts', async () => {
    let attempts = 0;
    const { endpoint, close } = await answerAlways(() => {
      attempts += 1;
    });
    const storage = openStorage(toS3(endpoint, { answerTimeoutMs: 500 }));
    const startedAt = performance.now();
    await expect(storage.get('a')).rejects.toThrow(StorageUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(attempts).toBe(3);
    storage.close();
    await close();
  });

  it('whose answer is cut gives a stream that says so', async () => {
    const { endpoint, close } = await answerAlways((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this'),
    );
    const found = await openStorage(toS3(endpoint)).get('a');
    expect(found?.size).toBe(100);
    await expect(buffer(found?.content as Readable)).rejects.toThrow(StorageUnavailable);
    await close();
  });

  it('whose server ignores ranges is unavailable instead of giving the wrong bytes', async () => {
    const { endpoint, close } = await answerAlways((socket) => socket.write(httpResponse('200 OK', [], 'everything')));
    await expect(openStorage(toS3(endpoint)).get('a', { start: 1, end: 2 })).rejects.toThrow(StorageUnavailable);
    await close();
  });
});

async function answerAlways(answer: Parameters<typeof startRawServer>[0]['onData']) {
  const server = await startRawServer({ address: '127.0.0.1', onData: answer });
  return { endpoint: `http://127.0.0.1:${server.port}`, close: server.close };
}
