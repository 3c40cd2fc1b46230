// Tests `plinth doctor` as a process against real services: with everything well, with parts missing, and with parts that
// are broken in the ways in which they break.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { startAdvisories } from '../../../sandbox/src/advisories/server.ts';
import { startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import { startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { startPayments } from '../../../sandbox/src/payments/server.ts';
import { startS3Sandbox } from '../../../sandbox/src/s3.ts';
import { startSecureMail } from '../../../sandbox/src/secure-smtp.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { sealedColumns } from '../../src/kit/secrets.ts';
import { asAdmin, cloneTemplate, createEmptyDatabase, serverUrl, withRole } from '../support/template.ts';
import { commandLine } from './command.ts';
import { startRedisWithPassword, startSilentServer, startTlsServer } from './doctor-services.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-doctor-'));
const authority = await makeAuthority();
const certificate = await authority.issue('DNS:localhost', 'DNS:*.apps.localhost');
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, authority.ca);
const apiPort = await freePort();

const [
  database,
  empty,
  mail,
  tls,
  s3,
  model,
  platform,
  payments,
  advisories,
  gitHost,
  services,
  redis,
  silent,
  closed,
] = await Promise.all([
  cloneTemplate(),
  createEmptyDatabase(),
  startSecureMail(certificate, { user: 'plinth', password: 'mail password' }),
  startTlsServer(certificate, apiPort),
  startS3Sandbox(),
  startModelSandbox(),
  startAdPlatform(),
  startPayments(),
  startAdvisories(),
  startGitHost(),
  startAuthorizationServer(),
  startRedisWithPassword('redis-password'),
  startSilentServer(),
  freePort(),
]);
afterAll(async () => {
  await Promise.all(
    [mail, tls, s3, model, platform, payments, advisories, gitHost, services, redis, silent].map((each) =>
      each.close(),
    ),
  );
  await authority.close();
  await database.drop();
  await empty.drop();
  rmSync(folder, { recursive: true });
});

const keys = newKeys();
const minimal: Record<string, string> = {
  ...keys,
  DATABASE_URL: database.url,
  STORAGE_FOLDER: join(folder, 'files'),
  COMMAND_SANDBOX_BWRAP: 'off',
};
const everything = {
  ...keys,
  DATABASE_URL: database.url,
  MIGRATE_DATABASE_URL: database.ownerUrl,
  REDIS_URL: `redis://:redis-password@127.0.0.1:${redis.port}`,
  STORAGE_S3_BUCKET: s3.bucket,
  STORAGE_S3_ENDPOINT: s3.endpoint,
  STORAGE_S3_ACCESS_KEY_ID: 'id',
  STORAGE_S3_SECRET_ACCESS_KEY: 'secret',
  STORAGE_S3_PATH_STYLE: 'true',
  SMTP_URL: `smtp://plinth:mail%20password@localhost:${mail.port}`,
  MODEL_URL: model.url,
  BROWSER_EXECUTABLE: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  COMMAND_SANDBOX_BWRAP: 'off',
  GIT_HOST_URL: gitHost.url,
  GIT_HOST_CLONE_URL: gitHost.cloneUrl,
  GIT_HOST_APP_ID: gitHost.appId,
  GIT_HOST_APP_PRIVATE_KEY: gitHost.appPrivateKey,
  ADS_PLATFORM_URL: platform.url,
  ADS_PLATFORM_MANAGER_ID: platform.managerId,
  ADS_PLATFORM_CREDENTIALS: platform.credentials,
  PAYMENTS_URL: payments.url,
  PAYMENTS_SECRET_KEY: payments.secretKey,
  ADVISORIES_URL: advisories.url,
  CONNECTOR_SANDBOX_URL: services.url,
  CONNECTOR_GITHUB_CLIENT_ID: 'sandbox-github',
  CONNECTOR_GITHUB_CLIENT_SECRET: 'sandbox-github-secret',
  PORT: String(apiPort),
  BASE_URL: `https://localhost:${tls.port}`,
  APPS_DOMAIN: 'apps.localhost',
  TRUSTED_PROXIES: '127.0.0.1',
  NODE_EXTRA_CA_CERTS: caFile,
};

interface Report {
  readonly code: number;
  /** What the command printed, with and without `--json`. */
  readonly text: string;
  outcomeOf(part: string): string | undefined;
  messageOf(part: string): string | undefined;
}

/** Runs the command. Its exit status must be the one that its JSON document states. */
async function examine(settings: Readonly<Record<string, string>>, cwd = '/'): Promise<Report> {
  const { plinth } = commandLine(settings, undefined, cwd);
  const { code, stdout, stderr } = await plinth('doctor', '--json').then(
    (done) => ({ code: 0, ...done }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  );
  const document: { exit_status: number; checks: { part: string; outcome: string; message: string }[] } =
    JSON.parse(stdout);
  expect([document.exit_status, stderr]).toEqual([code, '']);
  const find = (part: string) => document.checks.find((check) => check.part === part);
  return {
    code,
    text: stdout,
    outcomeOf: (part) => find(part)?.outcome,
    messageOf: (part) => find(part)?.message,
  };
}

// The exit status is 0 only if a worker was seen.
const { plinth, start, startApi } = commandLine(everything);
await database.runAsOwner("insert into backup_state (backup_name, backed_up_at) values ('A', now())");
await Promise.all([start('worker', /"msg":"worker started"/), startApi()]);

describe('an installation in which everything works', () => {
  it('is well: every part works, no mail is sent, and the exit status is 0', async () => {
    const { stdout } = await plinth('doctor');
    const lines = stdout.trim().split('\n');
    const parts = lines.slice(0, lines.indexOf(''));
    const notWorking = parts.filter((line) => !/^[A-Za-z ]+? {2,}works {2,}\S/.test(line));
    expect(notWorking.map((line) => line.split('  ')[0])).toEqual(['command sandbox']);
    expect(parts.map((line) => line.split('  ')[0])).toEqual([
      'settings',
      'keys',
      'database',
      'migrations',
      'database roles',
      'encrypted secrets',
      'worker',
      'clock',
      'backups',
      'Redis',
      'storage',
      'mail',
      'browser',
      'command sandbox',
      'files of strangers',
      'domain',
      'apps domain',
      'certificate',
      'apps certificate',
      'proxy headers',
      'proxy',
      'git host',
      'ad platform',
      'payments',
      'advisories',
      'connectors',
      'model',
    ]);
    expect(lines.at(-1)).toBe('Everything that is configured works.');
    expect(stdout).toMatch(/mail +works +localhost:\d+ accepted the login, encrypted. No message was sent./);
    expect(stdout).toMatch(
      /certificate +works +That of localhost:\d+ is valid until \d{4}-\d\d-\d\d, for 1 day. Renew/,
    );
    expect(mail.countMessages()).toBe(0);
    const { code, outcomeOf } = await examine(everything);
    expect([code, outcomeOf('worker'), outcomeOf('browser')]).toEqual([0, 'works', 'works']);
  });

  it('is well without anything that is optional, and is told what follows', async () => {
    const { code, outcomeOf, messageOf } = await examine(minimal);
    expect(code).toBe(0);
    for (const part of ['mail', 'model', 'browser', 'git host', 'ad platform', 'payments', 'advisories', 'connectors'])
      expect(outcomeOf(part), part).toBe('not_configured');
    expect(messageOf('model')).toContain('answer 503');
    expect(messageOf('model')).toContain('until MODEL_URL is set');
    expect(messageOf('apps domain')).toContain('without modules, storage and data calls, until APPS_DOMAIN is set');
    expect(outcomeOf('storage')).toBe('works');
  });
});

describe('what is needed but missing', () => {
  it('is reported with exit status 2 and the command that helps', async () => {
    const { code, outcomeOf, messageOf } = await examine(
      { DATABASE_URL: empty.url, COMMAND_SANDBOX_BWRAP: 'off' },
      folder,
    );
    expect(code).toBe(2);
    expect([outcomeOf('keys'), messageOf('keys')]).toEqual([
      'missing',
      'There are no keys, and no process starts without them. Create them with: npm run -s plinth -- keys new >> .env',
    ]);
    expect([outcomeOf('migrations'), messageOf('migrations')]).toEqual([
      'missing',
      expect.stringMatching(/^(\d+) of \1 are not applied, .* Run: npm run plinth -- migrate$/),
    ]);
    expect([outcomeOf('worker'), messageOf('worker')]).toEqual([
      'missing',
      expect.stringContaining('npm run plinth -- migrate'),
    ]);
    expect(outcomeOf('database')).toBe('works');
  });

  it('is a worker, if none has run lately', async () => {
    const other = await cloneTemplate();
    const { code, messageOf } = await examine({ ...minimal, DATABASE_URL: other.url });
    await other.drop();
    expect(code).toBe(2);
    expect(messageOf('worker')).toMatch(/^None was seen in the last 30 seconds.* Start one: npm run plinth -- worker$/);
  });

  it('is one of the keys: the others must be kept', async () => {
    const { code, messageOf } = await examine({ ...minimal, SIGNING_KEY: '' });
    expect(code).toBe(2);
    expect(messageOf('keys')).toMatch(/^SIGNING_KEY must be set.*add only what is absent, and keep the others/);
  });

  it('is the address of the proxy, if BASE_URL is https', async () => {
    const { code, outcomeOf, messageOf } = await examine({ ...everything, TRUSTED_PROXIES: '' });
    expect([code, outcomeOf('proxy headers')]).toEqual([2, 'missing']);
    expect(messageOf('proxy headers')).toContain("all callers count as the proxy's one address");
  });
});

describe('settings', () => {
  it('that are invalid, misspelt or unknown are named, and the other parts are still checked', async () => {
    const cwd = mkdtempSync(join(folder, 'env-'));
    writeFileSync(join(cwd, '.env'), 'FAVOURITE_COLOUR=blue\nNODE_OPTIONS=\n', { mode: 0o600 });
    const settings = {
      ...minimal,
      MODLE_URL: 'http://x',
      CONNECTOR_GITHUB_ID: 'x',
      BASE_URL: 'nowhere',
      LOG_LEVEL: 'loud',
    };
    const { code, outcomeOf, messageOf } = await examine(settings, cwd);
    expect([code, outcomeOf('settings')]).toEqual([1, 'broken']);
    const message = messageOf('settings');
    expect(message).toContain('BASE_URL must be a URL');
    expect(message).toContain('LOG_LEVEL must be one of');
    expect(message).toContain('MODLE_URL has no effect. Did you mean MODEL_URL?');
    expect(message).toContain('CONNECTOR_GITHUB_ID is not a setting');
    expect(message).toContain('FAVOURITE_COLOUR is not a setting');
    expect(message).not.toContain('NODE_OPTIONS');
    expect([outcomeOf('domain'), messageOf('domain')]).toEqual([
      'broken',
      expect.stringContaining('BASE_URL is not valid'),
    ]);
    expect(outcomeOf('database')).toBe('works');
  });

  it('that repeat the id of a key are refused', async () => {
    const [, key] = minimal.MASTER_KEYS?.split(':') ?? [];
    const { messageOf } = await examine({ ...minimal, MASTER_KEYS: `a:${key},a:${key}` });
    expect(messageOf('keys')).toContain('Two keys in MASTER_KEYS have the same id');
  });
});

describe('what is configured but does not work is reported with exit status 1', () => {
  it('a closed port, for every service', async () => {
    const at = `127.0.0.1:${closed}`;
    const { outcomeOf, messageOf } = await examine({
      ...everything,
      DATABASE_URL: `postgres://plinth@${at}/plinth`,
      REDIS_URL: `redis://${at}`,
      STORAGE_S3_ENDPOINT: `http://${at}`,
      SMTP_URL: `smtp://${at}`,
      MODEL_URL: `http://${at}/v1`,
      GIT_HOST_URL: `http://${at}`,
      ADS_PLATFORM_URL: `http://${at}`,
      PAYMENTS_URL: `http://${at}`,
      ADVISORIES_URL: `http://${at}`,
      CONNECTOR_SANDBOX_URL: `http://${at}`,
      BASE_URL: `https://localhost:${closed}`,
      BROWSER_EXECUTABLE: '/usr/bin/no-browser',
      COMMAND_SANDBOX_BWRAP: '/usr/bin/no-bwrap',
    });
    const parts = [
      'database',
      'Redis',
      'storage',
      'mail',
      'model',
      'git host',
      'ad platform',
      'payments',
      'advisories',
    ];
    for (const part of [...parts, 'connectors', 'certificate', 'apps certificate', 'browser', 'command sandbox'])
      expect([part, outcomeOf(part)]).toEqual([part, 'broken']);
    expect(messageOf('database')).toMatch(/^PostgreSQL can't be reached at 127.0.0.1:\d+ \(ECONNREFUSED\). Start it/);
    expect(messageOf('mail')).toMatch(/ECONNREFUSED.* Correct SMTP_URL.$/);
    expect(messageOf('model')).toMatch(/ECONNREFUSED.* Start it, or correct MODEL_URL.$/);
    expect(messageOf('command sandbox')).toContain('bubblewrap is not installed (/usr/bin/no-bwrap)');
    expect(outcomeOf('settings')).toBe('works');
  });

  it('a server that accepts connections and never answers, for every service: each check ends by itself', async () => {
    const at = `127.0.0.1:${silent.port}`;
    const { outcomeOf, messageOf } = await examine({
      ...everything,
      DATABASE_URL: `postgres://plinth@${at}/plinth`,
      MIGRATE_DATABASE_URL: '',
      REDIS_URL: `redis://${at}`,
      STORAGE_S3_ENDPOINT: `http://${at}`,
      SMTP_URL: `smtp://${at}`,
      MODEL_URL: `http://${at}/v1`,
      GIT_HOST_URL: `http://${at}`,
      ADS_PLATFORM_URL: `http://${at}`,
      PAYMENTS_URL: `http://${at}`,
      ADVISORIES_URL: `http://${at}`,
      BASE_URL: `https://localhost:${silent.port}`,
    });
    const parts = [
      'database',
      'Redis',
      'storage',
      'mail',
      'model',
      'git host',
      'ad platform',
      'payments',
      'advisories',
    ];
    for (const part of [...parts, 'certificate']) expect([part, outcomeOf(part)]).toEqual([part, 'broken']);
    // The limit of the mail gateway itself, not that of the check.
    expect(messageOf('mail')).toContain('Greeting never received');
    expect(messageOf('migrations')).toBe('This could not be checked, because the database does not work.');
    expect([outcomeOf('browser'), outcomeOf('connectors')]).toEqual(['works', 'works']);
  });

  it('a wrong password or key: the message says which setting to correct, and the rest works', async () => {
    const { code, messageOf, outcomeOf } = await examine({
      ...everything,
      DATABASE_URL: withRole(database.url, 'no_such_role'),
      REDIS_URL: `redis://:not-the-password@127.0.0.1:${redis.port}`,
      SMTP_URL: `smtp://plinth:not-the-password@localhost:${mail.port}`,
      GIT_HOST_APP_ID: '999',
      PAYMENTS_SECRET_KEY: 'sk_test_wrong',
    });
    expect(code).toBe(1);
    expect(messageOf('database')).toMatch(
      /^PostgreSQL refused the role in DATABASE_URL: .* Correct its name or password.$/,
    );
    expect(messageOf('Redis')).toMatch(/WRONGPASS.* correct REDIS_URL/);
    expect(messageOf('mail')).toMatch(/the login is wrong.* Correct SMTP_URL.$/);
    expect(messageOf('git host')).toContain('Correct GIT_HOST_APP_ID and GIT_HOST_APP_PRIVATE_KEY');
    expect(messageOf('payments')).toContain('Correct PAYMENTS_SECRET_KEY');
    expect(outcomeOf('advisories')).toBe('works');
  });

  it('a model that refuses the key, or whose server fails', async () => {
    model.behave(401);
    expect((await examine({ ...minimal, MODEL_URL: model.url })).messageOf('model')).toMatch(
      /answers 401: correct MODEL_API_KEY.$/,
    );
    model.behave(500);
    const { code, messageOf } = await examine({ ...minimal, MODEL_URL: model.url });
    model.behave('well');
    expect([code, messageOf('model')]).toEqual([1, expect.stringContaining('answers 500.')]);
  });

  it('a certificate that this machine does not trust, or that is for another name', async () => {
    const { messageOf } = await examine({ ...everything, NODE_EXTRA_CA_CERTS: '' });
    expect(messageOf('certificate')).toMatch(/is not valid: UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED/);
    expect(messageOf('mail')).toContain("can't be used");
    const { outcomeOf, messageOf: messageOfOther } = await examine({ ...everything, APPS_DOMAIN: 'other.localhost' });
    expect(outcomeOf('certificate')).toBe('works');
    expect(messageOfOther('apps certificate')).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('names that do not resolve', async () => {
    const { messageOf } = await examine({
      ...minimal,
      BASE_URL: 'https://plinth.nowhere.invalid',
      APPS_DOMAIN: 'apps.invalid',
    });
    const { messageOf: messageWithout } = await examine({ ...minimal, BASE_URL: 'https://plinth.nowhere.invalid' });
    expect(messageWithout('apps domain')).toMatch(/^No app can be published until APPS_DOMAIN is set/);
    expect(messageOf('domain')).toMatch(/^plinth.nowhere.invalid can't be resolved: .* Add a DNS record/);
    expect(messageOf('apps domain')).toContain('Add the wildcard record *.apps.invalid');
  });

  it('proxies that anyone can pretend to be, or that are no addresses, and a header that is never read', async () => {
    const ask = async (settings: Record<string, string>) =>
      (await examine({ ...minimal, ...settings })).messageOf('proxy headers');
    expect(await ask({ TRUSTED_PROXIES: '0.0.0.0/0' })).toContain('trusts every address');
    expect(await ask({ TRUSTED_PROXIES: 'proxy.example' })).toContain('not a list of addresses and ranges');
    expect(await ask({ COUNTRY_HEADER: 'CF-IPCountry' })).toContain('has no effect without TRUSTED_PROXIES');
  });

  it('a clock that is wrong', async () => {
    const shift = 'const real = Date.now; Date.now = () => real() + 90_000;';
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(shift)}`;
    const { code, messageOf } = await examine({ ...minimal, NODE_OPTIONS });
    expect([code, messageOf('clock')]).toEqual([
      1,
      expect.stringMatching(/^This machine's clock is ([78]\d|90)\.\d seconds ahead/),
    ]);
  });
});

describe('database roles', () => {
  it('are one role, if the role that runs the service owns the tables', async () => {
    const { code, outcomeOf, messageOf } = await examine({ ...minimal, DATABASE_URL: database.ownerUrl });
    expect([code, outcomeOf('database roles')]).toEqual([0, 'not_configured']);
    expect(messageOf('database roles')).toContain('rewrite the audit log');
  });

  it('have exactly the rights that migrate grants', async () => {
    const other = await cloneTemplate();
    const role = new URL(other.url).username;
    const ask = async (settings = {}) =>
      (await examine({ ...minimal, DATABASE_URL: other.url, ...settings })).messageOf('database roles');
    try {
      await other.runAsOwner(`grant update on audit_entries to ${role}`);
      expect(await ask()).toContain('has more rights than it should: update on public.audit_entries');
      await other.runAsOwner(`revoke update on audit_entries from ${role}; revoke insert, delete on apps from ${role}`);
      expect(await ask()).toMatch(
        /lacks delete on public.apps, insert on public.apps. Run "npm run plinth -- migrate"/,
      );
      expect(await ask({ MIGRATE_DATABASE_URL: other.url })).toContain(
        'of MIGRATE_DATABASE_URL does not own the tables',
      );
      expect(await ask({ MIGRATE_DATABASE_URL: `${serverUrl}/plinth_no_such_database` })).toMatch(
        /Create it with "createdb -h \S+ -p \d+ -U \S+ plinth_no_such_database", or correct MIGRATE_DATABASE_URL/,
      );
    } finally {
      await other.drop();
    }
  });
});

describe('encrypted secrets', () => {
  it('are counted in every column whose name says that it stores some', async () => {
    const rows = await asAdmin(
      (client) =>
        client.query(
          `select table_name, column_name from information_schema.columns where table_schema = 'public'
             and (column_name like '%sealed' or column_name in ('secret', 'previous_secret')) order by 1, 2`,
        ),
      new URL(database.url).pathname.slice(1),
    );
    expect(rows.rows.map((row) => [row.table_name, row.column_name])).toEqual(sealedColumns);
  });

  it('say which keys they still need, until none needs an old one', async () => {
    const other = await cloneTemplate();
    const ask = async (...ids: string[]) => {
      const MASTER_KEYS = ids.map((id) => `${id}:${randomBytes(32).toString('base64')}`).join(',');
      const { outcomeOf, messageOf } = await examine({ ...minimal, DATABASE_URL: other.url, MASTER_KEYS });
      return [outcomeOf('encrypted secrets'), messageOf('encrypted secrets')];
    };
    try {
      expect(await ask('new', 'old')).toEqual(['works', 'There are none yet. No secret needs "old" any more.']);
      await other.runAsOwner(`set session_replication_role = replica;
        insert into app_repositories (app_id, workspace_id, host, repository_full_name, base_branch, default_branch,
          token_sealed, connected_by, connected_at)
        values (gen_random_uuid(), gen_random_uuid(), 'h', 'o/r', 'main', 'main', 'v1.old.AAAA.AAAA', 'a', now())`);
      expect(await ask('new', 'old')).toEqual([
        'works',
        expect.stringContaining(
          'still need an old key of MASTER_KEYS: "old" (app_repositories.token_sealed 1). Keep it',
        ),
      ]);
      expect(await ask('new')).toEqual([
        'broken',
        expect.stringContaining('lacks a key that encrypted secrets need: "old" (app_repositories.token_sealed 1)'),
      ]);
    } finally {
      await other.drop();
    }
  });
});

describe('backups', () => {
  it('are old, or failed to be verified, or fine', async () => {
    const other = await cloneTemplate();
    const hours = (count: number) => `now() - interval '${count} hours'`;
    const ask = async (backedUp: string, verified: string, failed: string) => {
      await other.runAsOwner(`delete from backup_state;
        insert into backup_state (backup_name, backed_up_at, verified_at, verify_failed_at, failed_name)
        values ('A', ${backedUp}, ${verified}, ${failed}, 'B')`);
      const { outcomeOf, messageOf } = await examine({ ...minimal, DATABASE_URL: other.url });
      return `${outcomeOf('backups')}: ${messageOf('backups')}`;
    };
    try {
      expect(await ask('null', 'null', 'null')).toContain('not_configured: "plinth backup" has made none of this');
      expect(await ask(hours(3), 'null', 'null')).toContain(
        'works: The last one, A, is 3.0 hours old. None was verified',
      );
      expect(await ask(hours(3), hours(72), 'null')).toContain(
        'works: The last one, A, is 3.0 hours old; one was verified 3',
      );
      expect(await ask(hours(3), hours(216), 'null')).toContain(
        'broken: The last one, A, is 3.0 hours old; one was verified 9',
      );
      expect(await ask(hours(27), hours(3), 'null')).toContain(
        'broken: The last one, A, is 27.0 hours old. See whether',
      );
      expect(await ask(hours(3), hours(3), 'now()')).toMatch(
        /^broken: .* B could not be restored when it was verified/,
      );
    } finally {
      await other.drop();
    }
  });
});

it('refuses arguments that it does not know', async () => {
  await expect(commandLine(minimal).plinth('doctor', '--fix')).rejects.toMatchObject({
    code: 2,
    stderr: "Unknown option '--fix'.\nusage: plinth doctor [--json] [--model]\n",
  });
});
