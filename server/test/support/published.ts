// Publishes and visits apps in tests. Files are written and published through the API, and requested as by a visitor,
// with the app's host name.
import { Agent, request } from 'node:http';
import { expect } from 'vitest';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { World } from './world.ts';

export type Files = Readonly<Record<string, string | Buffer>>;

/** Replaces an app's files. Returns its revision. */
export async function putFiles(world: World, app: Pick<AppRow, 'id'>, files: Files, as: string): Promise<number> {
  const toInput = ([path, content]: [string, string | Buffer]) =>
    typeof content === 'string'
      ? { path, content }
      : { path, content: content.toString('base64'), encoding: 'base64' as const };
  const body = { files: Object.entries(files).map(toInput), delete_missing: true };
  const got = await world.call('PUT', `/api/apps/${app.id}/files`, { as, body });
  expect(got.status).toBe(200);
  return got.body.revision;
}

/** Publishes these files as the app. Returns the response body. */
export async function publishFiles(world: World, app: Pick<AppRow, 'id'>, files: Files, as: string) {
  await putFiles(world, app, files, as);
  const got = await world.call('POST', `/api/apps/${app.id}/deploy`, { as });
  expect(got.status, got.text).toBe(200);
  return got.body;
}

export interface Visit {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string;
}

/** Requests a path on this host from the server. Rejects if the response is cut off. */
export function visit(url: string, host: string, path: string, options: VisitOptions = {}): Promise<Visit> {
  const { promise, resolve, reject } = Promise.withResolvers<Visit>();
  const { hostname, port } = new URL(url);
  const { method = 'GET', headers = {}, payload } = options;
  const sent = request({ agent, method, hostname, port, path, headers: { ...headers, host } }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('error', reject);
    answer.on('end', () => {
      const body = Buffer.concat(chunks);
      const received = answer.headers as Record<string, string | undefined>;
      resolve({ status: answer.statusCode ?? 0, headers: received, body, text: body.toString('utf8') });
    });
  });
  sent.on('error', reject);
  sent.end(payload);
  return promise;
}
