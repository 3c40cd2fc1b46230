// Visitors of the published apps and readers of their files. They read continuously and record what they saw.
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../harness/retrying-client.ts';
import { appsDomain, type DrillApp } from './environment.ts';
import { contentOf, fileNames, readVersion } from './versions.ts';

export interface SeenFile {
  readonly app: string;
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly status: number;
  readonly revision: string;
  /** Undefined if the file is incomplete. */
  readonly version: string | undefined;
}

export interface SeenListing {
  readonly app: string;
  /** The versions of the files at one moment. More than one version means an incomplete revision. */
  readonly versions: readonly string[];
}

export interface Sightings {
  readonly files: SeenFile[];
  readonly listings: SeenListing[];
}

/** Visits all apps until the signal is aborted. */
export async function lookAround(
  { call, apis }: { call: Call; apis: readonly string[] },
  apps: readonly DrillApp[],
  versionsOf: (app: DrillApp) => readonly string[],
  sightings: Sightings,
  signal: AbortSignal,
): Promise<void> {
  const visitors = apis.map(async (api) => {
    while (!signal.aborted) {
      for (const app of apps) await visitAll(api, app, sightings);
      await sleep(10);
    }
  });
  const readers = async () => {
    while (!signal.aborted) {
      for (const app of apps) sightings.listings.push(await readListing(call, app, versionsOf(app)));
      await sleep(50);
    }
  };
  await Promise.all([...visitors, readers()]);
}

async function visitAll(api: string, app: DrillApp, { files }: Sightings): Promise<void> {
  for (const name of fileNames) {
    const askedAt = performance.now();
    const page = await visit(api, app, name).catch(() => undefined); // the process was killed
    if (page === undefined) return;
    const { status, revision, text } = page;
    files.push({
      app: app.id,
      askedAt,
      answeredAt: performance.now(),
      status,
      revision,
      version: readVersion(name, text),
    });
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Requests a published app's file, with the app's host name. */
export function visit(
  api: string,
  { slug }: DrillApp,
  name: string,
): Promise<{ status: number; revision: string; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; revision: string; text: string }>();
  const { hostname, port } = new URL(api);
  const headers = { host: `${slug}.${appsDomain}:${port}` };
  const asked = request({ agent, hostname, port, path: `/${name}`, headers, timeout: 10_000 }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        revision: String(response.headers['x-app-revision'] ?? ''),
        text: Buffer.concat(chunks).toString('utf8'),
      }),
    );
  });
  asked.on('timeout', () => asked.destroy(new Error('no answer')));
  asked.on('error', reject);
  asked.end();
  return promise;
}

/** One statement lists all files with their hashes, so the listing is consistent. */
async function readListing(call: Call, app: DrillApp, versions: readonly string[]): Promise<SeenListing> {
  const { items } = (await call('GET', `/api/apps/${app.id}/files?prefix=public/part-`)).body;
  const known = new Map(versions.flatMap((version) => fileNames.map((name) => [hashOf(version, name), version])));
  const seen = new Set<string>(items.map(({ sha256 }: { sha256: string }) => known.get(sha256) ?? 'unknown'));
  if (items.length !== 0 && items.length !== fileNames.length) seen.add('incomplete');
  return { app: app.id, versions: [...seen] };
}

const hashes = new Map<string, string>();

function hashOf(version: string, name: string): string {
  const key = `${version} ${name}`;
  const hash = hashes.get(key) ?? createHash('sha256').update(contentOf(version, name)).digest('hex');
  hashes.set(key, hash);
  return hash;
}
