// A test file's World: the real app with its own database and a real Redis, a clock that tests can move, and
// builders for people, workspaces, apps and credentials.
import { randomBytes } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { Writable } from 'node:stream';
import { Redis } from 'ioredis';
import { type Insertable, sql } from 'kysely';
import { afterAll, expect } from 'vitest';
import { type DnsZone, startDnsSandbox } from '../../../sandbox/src/dns.ts';
import { type App, type AppDeps, createApp } from '../../src/app.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { issueProof } from '../../src/core/auth/issue-proof.ts';
import type { Plan } from '../../src/core/auth/plans.ts';
import type { AppRow, WorkspaceAccess } from '../../src/core/auth/proofs.ts';
import type { WorkspaceRole } from '../../src/core/auth/roles.ts';
import { insertApp, type NewApp } from '../../src/core/identity/apps.ts';
import {
  insertCredential,
  insertMembership,
  insertUser,
  insertWorkspace,
  type NewCredential,
} from '../../src/core/identity/users.ts';
import { acquireSlot, type WorkerSlot } from '../../src/kit/background/workers/slots.ts';
import { startWorker } from '../../src/kit/background/workers/worker.ts';
import { openDatabase } from '../../src/kit/db/database.ts';
import { readMigrations } from '../../src/kit/db/migrate.ts';
import { newId } from '../../src/kit/ids.ts';
import { createLog } from '../../src/kit/log.ts';
import { migrationsFolder } from '../../src/release.ts';
import type { Db, Tables } from '../../src/tables.ts';
import { type CallOptions, type CallResult, call } from './client.ts';
import { type Change, recordAnswers, recordChanges } from './observed.ts';
import { cloneTemplate, type TestDatabase } from './template.ts';
import { createTenantCheck } from './tenant-check.ts';

type NewAppUser = Insertable<Tables['app_users']>;

export interface Person {
  readonly id: string;
  readonly email: string;
}

export interface WorldOptions {
  readonly environment?: Record<string, string>;
  readonly routes?: AppDeps['routes'];
  /** The folder of a built console. By default, none is served. */
  readonly consoleFolder?: string;
  /** The app's database, if it is not the World's own. */
  readonly databaseUrl?: string;
  /**
   * DNS for outbound requests. By default, example.com and its subdomains resolve to a public address, and no other
   * names resolve.
   */
  readonly zone?: DnsZone;
  /** A certificate authority that outbound requests trust. */
  readonly extraCa?: string;
  /** How long calls to the ad platform may take. */
  readonly adPlatform?: AppDeps['adPlatform'];
  /** How long generateAssets waits for images. */
  readonly assetWaitMs?: number;
  /** How long advertising waits, if different from the defaults. */
  readonly adsTimes?: AppDeps['adsTimes'];
  /** How long browser tests wait, if different from the defaults. */
  readonly testTimes?: AppDeps['testTimes'];
  /** How long coding sessions may take, if different from the defaults. */
  readonly sessionLimits?: AppDeps['sessionLimits'];
  /** Called at each point where a worker may be killed while it is running a coding session. */
  readonly onSessionBoundary?: AppDeps['onSessionBoundary'];
  /** The limits of open streams, if different from the defaults. */
  readonly streamLimits?: AppDeps['streamLimits'];
  /** How long a page may take to load in the browser. */
  readonly pageMs?: number;
  /** How long to wait before conversion tags are read again. */
  readonly tagPauseMs?: number;
  /** Receives the text of every statement that the app sends. */
  readonly onStatement?: (text: string) => void;
  /** Set if tests in this file remove audit entries on purpose. Skips the final check of the audit log. */
  readonly tampersWithAuditLog?: true;
}

export class World {
  readonly app: App;
  readonly config: Config;
  readonly url: string;
  readonly logLines: string[];
  /** `aheadMs` is added to the real time. Tests change it instead of waiting. */
  readonly clock: { aheadMs: number; now(): Date };

  /**
   * The tests' own connection, with the role that owns the tables. Unlike the app's connection, its statements are not
   * checked for tenant predicates, and its privileges are not limited.
   */
  readonly db: Db;

  constructor(app: App, db: Db, config: Config, url: string, logged: string[], clock: World['clock']) {
    this.app = app;
    this.db = db;
    this.config = config;
    this.url = url;
    this.logLines = logged;
    this.clock = clock;
  }

  /** Stops the app, then checks the audit log and the tenant predicates for everything that the tests did. */
  end: () => Promise<void> = async () => {};

  call(method: string, path: string, sent?: CallOptions): Promise<CallResult> {
    return call(this.url, method, path, sent);
  }

  /** Starts a worker in this process, which stops with the World. Its statements use `db`, except the slot's own. */
  async startWorker({ db = this.app.database.db }: { db?: Db } = {}): Promise<void> {
    // On a busy machine, a test process may stall for longer than a worker may, and the watchdog would kill it.
    const leaseMs = 60_000;
    const slot = await acquireSlot({ url: this.config.DATABASE_URL, slots: 1, leaseMs }, new AbortController().signal);
    const worker = await startWorker(this.app.background, slot as WorkerSlot, {
      db,
      clock: this.clock,
      wake: this.app.wake,
      leaseMs,
      onError: (what, error) => this.logLines.push(`${what}: ${String(error)}`),
      onRun: this.app.metrics.countRun,
    });
    const end = this.end;
    this.end = async () => {
      await worker.stop();
      await end();
    };
  }

  #redis: Redis | undefined;

  #openRedis(): Redis {
    if (this.#redis !== undefined) return this.#redis;
    const redis = new Redis(this.config.REDIS_URL);
    this.#redis = redis;
    const end = this.end;
    this.end = async () => {
      redis.disconnect();
      await end();
    };
    return redis;
  }

  /** Removes all rate-limit counters. */
  async resetRateLimits(): Promise<void> {
    const redis = this.#openRedis();
    const keys = await redis.keys(`${this.config.REDIS_PREFIX}*`);
    if (keys.length > 0) await redis.del(...keys);
  }

  /** Adds to every existing rate-limit counter, as if this many more requests had been sent. */
  async addToRateLimits(by: number): Promise<void> {
    const redis = this.#openRedis();
    for (const key of await redis.keys(`${this.config.REDIS_PREFIX}*`)) await redis.incrby(key, by);
  }

  /** Creates an account. Its address is verified, unless the test specifies otherwise. */
  async person(
    email: string,
    options: { is_operator?: boolean; full_name?: string; email_verified?: boolean } = {},
  ): Promise<Person> {
    const full_name = options.full_name ?? (email.split('@')[0] as string);
    return {
      id: await insertUser(this.db, { email_verified: true, ...options, email, full_name }, this.clock.now()),
      email,
    };
  }

  workspace(owner: Person, plan: Plan = 'enterprise', name = 'Workspace'): Promise<string> {
    return insertWorkspace(this.db, { name, plan, owner_id: owner.id }, this.clock.now());
  }

  async member(workspace_id: string, role: WorkspaceRole, email: string): Promise<Person> {
    const person = await this.person(email);
    await insertMembership(this.db, { workspace_id, user_id: person.id, role }, this.clock.now());
    return person;
  }

  async credential(credential: NewCredential): Promise<{ id: string; token: string }> {
    return insertCredential(
      this.db,
      { peppers: this.config.TOKEN_PEPPERS, cellCode: this.config.CELL_CODE },
      credential,
      this.clock.now(),
    );
  }

  /** Creates a full-access token for this person in this workspace. */
  async token(person: Person, workspace_id: string, more: Partial<NewCredential> = {}): Promise<string> {
    const { token } = await this.credential({
      kind: 'personal_token',
      user_id: person.id,
      workspace_id,
      permission: 'full_access',
      ...more,
    });
    return token;
  }

  /** Creates a browser session for this person. Returns the header to send. */
  async session({ id }: Pick<Person, 'id'>): Promise<{ cookie: string }> {
    const session = { kind: 'session', user_id: id, workspace_id: null, permission: 'full_access' } as const;
    return { cookie: `plinth_session=${(await this.credential(session)).token}` };
  }

  appOf(owner: Person, workspace_id: string, more: Partial<NewApp> = {}): Promise<AppRow> {
    const access = issueProof<WorkspaceAccess>({
      caller: { user_id: owner.id } as WorkspaceAccess['caller'],
      workspace_id,
      plan: 'enterprise',
      role: 'owner',
    });
    const app: NewApp = {
      name: 'App',
      app_type: 'user_app',
      user_description: '',
      visibility: 'workspace',
      public_settings: 'public_with_login',
      ...more,
    };
    return insertApp(this.db, access, app, this.clock.now());
  }

  /** Creates an app user. */
  async appUser(app: AppRow, email: string, more: Partial<NewAppUser> = {}): Promise<Person> {
    const now = this.clock.now();
    const user = { id: newId(), app_id: app.id, email, ...more, created_date: now, updated_date: now };
    await this.db.insertInto('app_users').values(user).execute();
    return { id: user.id, email };
  }

  /** Creates an app user's token, valid for an hour. */
  async appUserToken(app: AppRow, user: Person, more: Partial<NewCredential> = {}): Promise<string> {
    const { token } = await this.credential({
      kind: 'app_user_token',
      user_id: null,
      app_user_id: user.id,
      workspace_id: app.workspace_id,
      permission: 'full_access',
      expires_at: new Date(this.clock.now().getTime() + 60 * 60 * 1000),
      ...more,
    });
    return token;
  }

  async share(app: AppRow, person: Person, role: 'editor' | 'viewer'): Promise<void> {
    const share = {
      app_id: app.id,
      workspace_id: app.workspace_id,
      user_id: person.id,
      role,
      created_date: this.clock.now(),
    };
    await this.db.insertInto('app_shares').values(share).execute();
  }
}

/** Starts a World for this test file. It ends after the file's tests. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const database = await cloneTemplate();
  const world = await startWorldOn(database, options);
  afterAll(async () => {
    await world.end();
    await database.drop();
  });
  return world;
}

/** Starts a second app with the first app's database and keys, as a second process would. */
export async function startSecondApp(world: World, options: WorldOptions = {}): Promise<World> {
  const origin = origins.get(world);
  if (origin === undefined) throw new Error('this World was not started here');
  const beside = await startWorldOn(origin.database, {
    ...options,
    environment: { ...origin.environment, ...options.environment },
  });
  afterAll(() => beside.end());
  return beside;
}

/** The dependencies that a second app shares with the first. */
const origins = new WeakMap<World, { database: TestDatabase; environment: Record<string, string> }>();

async function expectAuditEntries(db: Db, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  const { rows } = await sql<{ request_id: string; type: string; actor: string | null }>`
    select entry->>'request_id' as request_id, entry->>'type' as type, entry->'actor'->>'kind' as actor
    from (select entry from audit_pending union all select entry from audit_entries) entries`.execute(db);
  const entries = Map.groupBy(rows, (row) => row.request_id);
  const withoutEntry = changes.filter(
    ({ requestId, audits }) => !entries.get(requestId)?.some((entry) => entry.actor && audits.includes(entry.type)),
  );
  expect(withoutEntry, 'changes without an audit entry').toEqual([]);
}

async function startWorldOn(database: TestDatabase, options: WorldOptions): Promise<World> {
  const environment = { ...newKeys(), REDIS_PREFIX: `test:${randomBytes(6).toString('hex')}:`, ...options.environment };
  const config = readConfig({
    ...environment,
    DATABASE_URL: options.databaseUrl ?? database.url,
    DATABASE_POOL_SIZE: '8',
    STRICT_ANSWERS: 'true',
    PORT: '0',
  });
  const logged: string[] = [];
  const sink = new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) });
  const clock = { aheadMs: 0, now: () => new Date(Date.now() + clock.aheadMs) };
  const check = { run: (_text: string) => {} };
  const refused: unknown[] = [];
  const dns = await startDnsSandbox(options.zone ?? defaultZone);
  const app = createApp(config, {
    clock,
    log: createLog('debug', sink),
    migrations: await readMigrations(migrationsFolder),
    // Violations are recorded as well as thrown, because some code continues after a database error.
    onStatement: (text) => {
      options.onStatement?.(text);
      try {
        check.run(text);
      } catch (error) {
        refused.push(error);
        throw error;
      }
    },
    routes: options.routes,
    consoleFolder: options.consoleFolder,
    adPlatform: options.adPlatform,
    assetWaitMs: options.assetWaitMs,
    adsTimes: options.adsTimes,
    testTimes: options.testTimes,
    sessionLimits: options.sessionLimits,
    onSessionBoundary: options.onSessionBoundary,
    streamLimits: options.streamLimits,
    pageMs: options.pageMs,
    tagPauseMs: options.tagPauseMs,
    outbound: {
      dns: () => {
        const resolver = new Resolver({ timeout: 2_000, tries: 1 });
        resolver.setServers([dns.server]);
        return resolver;
      },
      extraCa: options.extraCa,
    },
  });
  recordAnswers(app.server, app.routes);
  const changes = recordChanges(app.server, app.routes);
  const address = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const { db, pool, close } = openDatabase<Tables>({ url: database.ownerUrl, poolSize: 2 });
  const world = new World(app, db, config, address, logged, clock);
  check.run = await createTenantCheck(pool);
  origins.set(world, { database, environment });
  world.end = async () => {
    await app.close();
    dns.close();
    // Every change that the tests made must have an audit entry with an actor.
    if (!options.tampersWithAuditLog) await expectAuditEntries(db, changes);
    await close();
    expect(refused, 'statements without a tenant predicate').toEqual([]);
  };
  return world;
}

const defaultZone: DnsZone = (name, type) => {
  if (!/(^|\.)example\.com$/.test(name)) return { code: 3 };
  return type === 'A' ? { addresses: ['93.184.215.14'] } : {};
};
