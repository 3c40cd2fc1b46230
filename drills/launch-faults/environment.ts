// The drill's environment: its own servers for the database, Redis, the ad platform, payments and images, Plinth's
// processes, and workspaces whose apps can be advertised.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import { type OwnPostgres, startPostgres } from '../../harness/postgres.ts';
import { type Processes, startProcesses } from '../../harness/processes.ts';
import { startRedis } from '../../harness/redis.ts';
import {
  type AdPlatformOptions,
  type AdPlatformSandbox,
  startAdPlatform,
} from '../../sandbox/src/ad-platform/server.ts';
import { makeAuthority } from '../../sandbox/src/certificates.ts';
import { startDnsSandbox } from '../../sandbox/src/dns.ts';
import { startPayments } from '../../sandbox/src/payments/server.ts';
import { startRawServer } from '../../sandbox/src/raw-server.ts';
import { newKeys } from '../../server/src/commands/keys.ts';
import { migrateAll } from '../../server/src/commands/migrate.ts';
import { readConfig } from '../../server/src/config.ts';
import { importLocations } from '../../server/src/features/ads/index.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import { newId } from '../../server/src/kit/ids.ts';
import type { Db, Tables } from '../../server/src/tables.ts';
import { call } from '../../server/test/support/client.ts';

const program = fileURLToPath(new URL('process.ts', import.meta.url));

export interface DrillApp {
  readonly id: string;
  readonly token: string;
  /** Whether launching a campaign also enables it. */
  readonly isTracked: boolean;
}

export interface Environment {
  readonly apps: readonly DrillApp[];
  readonly platform: AdPlatformSandbox;
  readonly postgres: OwnPostgres;
  readonly processes: Processes;
  /** An image for PERFORMANCE_MAX campaigns. */
  readonly imageUrl: string;
  /** Whether Plinth currently has a record of a campaign with this platform id. */
  isRecorded(platformCampaignId: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface Size {
  readonly workspaces: number;
  readonly appsPerWorkspace: number;
  readonly speed: number;
}

export async function openEnvironment(
  { workspaces, appsPerWorkspace, speed }: Size,
  intercept: AdPlatformOptions['intercept'],
): Promise<Environment> {
  const folder = mkdtempSync(join(tmpdir(), 'launch-drill-'));
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const [platform, payments] = await Promise.all([startAdPlatform({ intercept }), startPayments()]);
  const authority = await makeAuthority();
  const certificate = await authority.issue('DNS:images.test');
  const dns = await startDnsSandbox((name, type) =>
    type === 'A' && name === 'images.test' ? { addresses: ['127.0.0.1'] } : {},
  );
  const images = await startRawServer({ address: '127.0.0.1', tls: certificate, onData: sendPixel });
  const settings = {
    ...newKeys(),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'info',
    STORAGE_FOLDER: folder,
    OUTBOUND_ALLOW: '127.0.0.0/8',
    WORKER_SLOTS: '2',
    PAYMENTS_URL: payments.url,
    PAYMENTS_SECRET_KEY: payments.secretKey,
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
    DRILL_SPEED: String(speed),
    DRILL_CA: authority.ca,
    DRILL_DNS: dns.server,
  };
  await migrateAll(postgres.url);
  const { db, close } = openDatabase<Tables>({ url: postgres.url, poolSize: 4 });
  await importCountry(db, folder);
  const processes = await startProcesses({ api: 2, worker: 2 }, settings, program);
  await processes.allReady();
  const apps: DrillApp[] = [];
  const user = await createBenchUser(db);
  for (let n = 0; n < workspaces; n += 1) {
    const workspace = await createBenchWorkspace(db, readConfig(settings), user);
    await enterCard(processes.apis[0] as string, workspace.token);
    for (let each = 0; each < appsPerWorkspace; each += 1) {
      const { id } = await createBenchApp(db, workspace, 'user_app');
      const isTracked = each % 3 !== 2;
      if (isTracked) await recordTracking(db, id, user);
      apps.push({ id, token: workspace.token, isTracked });
    }
  }
  return {
    apps,
    platform,
    postgres,
    processes,
    imageUrl: `https://images.test:${images.port}/pixel.png`,
    async isRecorded(platformCampaignId) {
      const { rows } =
        await sql`select 1 from ads_campaigns where platform_campaign_id = ${platformCampaignId}`.execute(db);
      return rows.length > 0;
    },
    async close() {
      processes.stop();
      await close();
      await Promise.all([platform.close(), payments.close(), images.close(), dns.close()]);
      redis.stop();
      postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

function sendPixel(socket: NodeJS.WritableStream): void {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: ${png.length}\r\n\r\n`);
  socket.end(png);
}

/** Imports only one country, which is sufficient and faster than the bundled catalogue. */
async function importCountry(db: Db, folder: string): Promise<void> {
  const [file, bundled] = [join(folder, 'locations.csv'), join(folder, 'bundled.gz')];
  const columns = 'Criteria ID,Name,Canonical Name,Parent ID,Country Code,Target Type,Status';
  writeFileSync(file, `${columns}\n2840,United States,United States,,US,Country,Active\n`);
  writeFileSync(bundled, gzipSync('country\t1\tUnited States\t340000000\t\tUS\n'));
  await importLocations(db, file, bundled, new Date());
}

async function enterCard(api: string, token: string): Promise<void> {
  const { body } = await call(api, 'POST', '/api/workspace/billing/setup-session', { as: token });
  await fetch(body.url, { method: 'POST', body: 'number=4242424242424242', redirect: 'manual' });
}

/** Records verifyTracking's result without loading the published page, which this drill does not test. */
async function recordTracking(db: Db, app_id: string, user: string): Promise<void> {
  const deployment = newId();
  await sql`insert into deployments (workspace_id, app_id, id, revision, files, files_bytes, created_date, created_by)
    select workspace_id, id, ${deployment}, 1, '{}', 2, now(), ${user} from apps where id = ${app_id}`.execute(db);
  await sql`update apps set live_deployment_id = ${deployment}, published_revision = 1, published_at = now(),
    published_by = ${user} where id = ${app_id}`.execute(db);
  await sql`insert into tracking_checks (app_id, deployment_id, verified, checked_at)
    values (${app_id}, ${deployment}, true, now())`.execute(db);
}
