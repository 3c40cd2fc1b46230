// An S3 server for development and tests. It keeps objects in memory and does not check signatures.
import type { AddressInfo } from 'node:net';
import { buildApp } from 'fauxqs';

export interface S3Sandbox {
  readonly endpoint: string;
  /** A bucket that already exists. */
  readonly bucket: string;
  /** Returns the number of multipart uploads that were neither completed nor aborted. */
  countUnfinishedUploads(): Promise<number>;
  close(): Promise<void>;
}

const bucket = 'plinth';

export async function startS3Sandbox(port = 0): Promise<S3Sandbox> {
  const server = buildApp({ logger: false });
  // `startFauxqs` is not used, because it would listen on all of the machine's addresses.
  await server.listen({ port, host: '127.0.0.1' });
  const endpoint = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  await fetch(`${endpoint}/${bucket}`, { method: 'PUT' });
  return {
    endpoint,
    bucket,
    async countUnfinishedUploads() {
      const listed = await (await fetch(`${endpoint}/${bucket}?uploads`)).text();
      return listed.match(/<Upload>/g)?.length ?? 0;
    },
    async close() {
      server.server.closeAllConnections();
      await server.close();
    },
  };
}
