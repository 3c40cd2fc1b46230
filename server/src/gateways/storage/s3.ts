// Stores objects in a bucket on any server that speaks the S3 protocol.
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { StorageUnavailable } from '../../kit/unavailable.ts';
import { type ByteRange, checkKey, type ObjectStorage, type StoredObject, toPutError } from './object-storage.ts';

export interface S3Settings {
  readonly bucket: string;
  /** If undefined, Amazon's endpoint for the region is used. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly checksums: 'when_required' | 'when_supported';
  readonly pathStyle: boolean;
  /** How long to wait for the response headers. Set by tests. */
  readonly answerTimeoutMs?: number;
}

const maxAttempts = 3;
const connectTimeoutMs = 3_000;
const defaultAnswerTimeoutMs = 5_000;
/** How long to wait for the response headers of a request that uploads a whole part. */
const sendTimeoutMs = 60_000;
const silenceTimeoutMs = 60_000;
/** Each download by a slow client occupies a socket, so a few clients must not be able to use up all sockets. */
const maxSockets = 512;
const partBytes = 8 * 1024 * 1024; // an object may have at most 10,000 parts
const partsAtOnce = 2;
const removalsAtOnce = 16;

export function openS3(settings: S3Settings): ObjectStorage {
  const { bucket: Bucket, answerTimeoutMs = defaultAnswerTimeoutMs } = settings;
  const client = createClient(settings);
  return {
    async put(Key, content) {
      checkKey(Key);
      try {
        if (Buffer.isBuffer(content))
          await client.send(new PutObjectCommand({ Bucket, Key, Body: content }), { requestTimeout: sendTimeoutMs });
        else await upload(client, { Bucket, Key, Body: content });
      } catch (error) {
        throw toPutError(content, error);
      }
    },
    async get(Key, range) {
      checkKey(Key);
      const Range = range && `bytes=${range.start}-${range.end}`;
      const found = await client
        .send(new GetObjectCommand({ Bucket, Key, Range }), { requestTimeout: answerTimeoutMs })
        .catch(unlessMissing);
      return found && toStoredObject(found, range);
    },
    async remove(keys) {
      keys.forEach(checkKey);
      // Removes objects one by one, because servers disagree about the checksum that a multi-object delete requires.
      for (let from = 0; from < keys.length; from += removalsAtOnce) {
        const batch = keys.slice(from, from + removalsAtOnce).map((Key) => new DeleteObjectCommand({ Bucket, Key }));
        await Promise.all(batch.map((each) => client.send(each, { requestTimeout: answerTimeoutMs }))).catch(
          (error) => {
            throw new StorageUnavailable(error);
          },
        );
      }
    },
    close: () => client.destroy(),
  };
}

function createClient({ endpoint, region, accessKeyId, secretAccessKey, checksums, pathStyle }: S3Settings): S3Client {
  const checksum = checksums === 'when_supported' ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED';
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: pathStyle,
    requestChecksumCalculation: checksum,
    responseChecksumValidation: checksum,
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: sendTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceTimeoutMs,
      httpAgent: { maxSockets },
      httpsAgent: { maxSockets },
    },
  });
}

/**
 * Uploads in parts, so the length need not be known in advance. A failed upload is aborted, and its parts are removed.
 */
const upload = (client: S3Client, params: { Bucket: string; Key: string; Body: Readable }): Promise<unknown> =>
  new Upload({ client, params, partSize: partBytes, queueSize: partsAtOnce, leavePartsOnError: false }).done();

function toStoredObject(found: GetObjectCommandOutput, range: ByteRange | undefined): StoredObject {
  const { Body, ContentLength, ContentRange } = found;
  const size = range === undefined ? ContentLength : Number(ContentRange?.split('/')[1]);
  if (!(Body instanceof Readable) || size === undefined || !Number.isInteger(size)) {
    if (Body instanceof Readable) Body.destroy();
    throw new StorageUnavailable(new Error('the response has no size, or ignores the range'));
  }
  return { size, content: nameErrors(Body) };
}

/** Ensures that a connection error while reading the content is not mistaken for a database error. */
function nameErrors(body: Readable): Readable {
  async function* read() {
    try {
      yield* body;
    } catch (error) {
      throw new StorageUnavailable(error);
    }
  }
  const content = Readable.from(read(), { objectMode: false });
  return content.once('close', () => body.destroy());
}

function unlessMissing(error: unknown): undefined {
  const { name } = error as Error;
  if (name === 'NoSuchKey') return undefined;
  if (name === 'InvalidRange') throw new RangeError('the range starts past the end of the object');
  throw new StorageUnavailable(error);
}
