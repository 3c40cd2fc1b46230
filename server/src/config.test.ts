// Tests how settings depend on each other, and which variables are reported as misspelled settings.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newKeys } from './commands/keys.ts';
import { listMisspelledSettings, listSecretTexts, listUnknownSettings, readConfig } from './config.ts';

describe('BASE_URL', () => {
  it('follows PORT in development, where it is not set', () => {
    expect(readConfig({ ...newKeys(), PORT: '9123' }).BASE_URL).toBe('http://127.0.0.1:9123');
    expect(readConfig(newKeys()).BASE_URL).toBe('http://127.0.0.1:8080');
  });

  it('is what it was set to, whatever PORT is', () => {
    const settings = { ...newKeys(), PORT: '9123', BASE_URL: 'https://plinth.example/' };
    expect(readConfig(settings).BASE_URL).toBe('https://plinth.example');
  });
});

describe('a configuration that is refused', () => {
  const adviceFor = (settings: Record<string, string>) => () => readConfig(settings);

  it('recommends new keys only where keys are missing, because new ones would lock the existing secrets', () => {
    expect(adviceFor({ PORT: 'x' })).toThrow('To create the keys, run: npm run -s plinth -- keys new >> .env');
    expect(adviceFor({ ...newKeys(), PORT: 'x' })).toThrow(/^(?!.*keys new).*PORT/s);
  });

  it('says which key to add if only some are missing, because new ones would replace the others', () => {
    const { SIGNING_KEY: _, ...others } = newKeys();
    expect(adviceFor(others)).toThrow(
      /run: npm run -s plinth -- keys new\nAdd only SIGNING_KEY to .env, and keep the other keys/,
    );
  });
});

describe('a setting from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-settings-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (text: string) => {
    const path = join(folder, randomUUID());
    writeFileSync(path, text);
    return path;
  };
  const read = (settings: object) => readConfig({ ...newKeys(), ...settings });

  it('is the content of the file, without the line break at its end', () => {
    const file = write('postgres://ada:p%40ssword@db.example/plinth\n');
    expect(read({ DATABASE_URL_FILE: file }).DATABASE_URL).toBe('postgres://ada:p%40ssword@db.example/plinth');
    expect(listSecretTexts({ DATABASE_URL_FILE: file })).toContain('p@ssword');
    const { MASTER_KEYS = '', ...others } = newKeys();
    expect(readConfig({ ...others, MASTER_KEYS_FILE: write(MASTER_KEYS) }).MASTER_KEYS).toHaveLength(1);
    expect(listMisspelledSettings({ MASTER_KEYS_FILE: 'x', METRICS_TOKEN_FILE: 'x' })).toEqual([]);
    expect(listUnknownSettings(['STORAGE_S3_SECRET_ACCESS_KEY_FILE'], {})).toEqual([]);
  });

  it.each([
    ['is set as well', { REDIS_URL: 'redis://a', REDIS_URL_FILE: '/b' }, 'REDIS_URL and REDIS_URL_FILE are both set.'],
    [
      'does not exist',
      { REDIS_URL_FILE: '/no/such' },
      "REDIS_URL_FILE names a file that can't be read (ENOENT): /no/such",
    ],
    ['is a folder', { REDIS_URL_FILE: folder }, 'REDIS_URL_FILE must name a file of at most 65536 bytes'],
    ['is endless', { REDIS_URL_FILE: '/dev/zero' }, 'REDIS_URL_FILE must name a file of at most 65536 bytes'],
    ['is empty', { REDIS_URL_FILE: write('\n') }, 'REDIS_URL_FILE names an empty file'],
    [
      'holds the value instead of a path',
      { PAYMENTS_SECRET_KEY_FILE: 'sk_live' },
      /PAYMENTS_SECRET_KEY_FILE names a file that can't be read \(ENOENT\)$/m,
    ],
    ['is not valid', { REDIS_URL_FILE: write('http://a') }, 'REDIS_URL must be a URL'],
  ])('is refused if it %s', (_what, settings, message) => {
    expect(() => read(settings)).toThrow(message);
  });

  it('that is a key gets no advice to make a new one', () => {
    const { SIGNING_KEY: _, ...others } = newKeys();
    expect(() => readConfig({ ...others, SIGNING_KEY_FILE: '/no/such' })).toThrow(/^(?!.*keys new).*SIGNING_KEY_FILE/s);
  });
});

describe('a variable that is no setting', () => {
  it('is found if the file .env has it, or if its name begins like a setting', () => {
    const environment = {
      HOME: '/root',
      CONNECTOR_GITHUB_ID: 'x',
      PLINTH_SERVICE_HOST: '10.0.0.1',
      PLINTH_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      COLOUR: 'x',
    };
    const file = ['COLOUR', 'NODE_OPTIONS', 'MALLOC_ARENA_MAX', 'BASE_URL', 'BASE_ULR'];
    expect(listUnknownSettings(file, environment)).toEqual(['CONNECTOR_GITHUB_ID', 'COLOUR']);
  });
});

describe('the texts that must not be printed', () => {
  it('are the values of secret settings, and passwords in URLs as they are and as they are sent', () => {
    const texts = listSecretTexts({
      MODEL_API_KEY: 'model-key',
      MODEL_NAME: 'a-model',
      MASTER_KEYS: 'a:c2VjcmV0LW9mLTMyLWJ5dGVzLWZvci10ZXN0cy1vbmx5,b:b3RoZXItb2YtMzItYnl0ZXMtZm9yLXRlc3RzLW9ubHk',
      SMTP_URL: 'smtp://ada:p%40ssword@mail.example',
      REDIS_URL: 'redis://:abc@127.0.0.1', // too short to be told from ordinary text
      DATABASE_URL: 'postgres://127.0.0.1/plinth?password=in-the-query',
    });
    expect(texts).toContain('model-key');
    expect(texts).toContain('b3RoZXItb2YtMzItYnl0ZXMtZm9yLXRlc3RzLW9ubHk');
    expect(texts).toEqual(expect.arrayContaining(['p%40ssword', 'p@ssword', 'AGFkYQBwQHNzd29yZA==', 'in-the-query']));
    expect(texts).not.toContain('a-model');
    expect(texts).not.toContain('abc');
  });
});

describe('object storage', () => {
  const bucket = {
    STORAGE_S3_BUCKET: 'files',
    STORAGE_S3_ACCESS_KEY_ID: 'id',
    STORAGE_S3_SECRET_ACCESS_KEY: 'secret',
  };
  const read = (settings: Record<string, string>) => () => readConfig({ ...newKeys(), ...settings });

  it('is a folder, or a bucket with its keys', () => {
    expect(read({})()).toMatchObject({ STORAGE_FOLDER: '.data' });
    expect(read(bucket)()).toMatchObject({
      STORAGE_S3_BUCKET: 'files',
      STORAGE_S3_REGION: 'us-east-1',
      STORAGE_S3_CHECKSUMS: 'when_required',
      STORAGE_S3_PATH_STYLE: false,
    });
  });

  it.each([
    [{ ...bucket, STORAGE_S3_SECRET_ACCESS_KEY: '' }, 'STORAGE_S3_SECRET_ACCESS_KEY is missing'],
    [{ ...bucket, STORAGE_S3_ACCESS_KEY_ID: '' }, 'STORAGE_S3_ACCESS_KEY_ID is missing'],
    [{ ...bucket, STORAGE_FOLDER: '/data' }, 'STORAGE_FOLDER and STORAGE_S3_BUCKET are both set'],
    [{ STORAGE_S3_ENDPOINT: 'https://s3.example.com' }, 'STORAGE_S3_ENDPOINT has no effect without STORAGE_S3_BUCKET'],
    [{ ...bucket, STORAGE_S3_BUCKET: '' }, 'STORAGE_S3_SECRET_ACCESS_KEY has no effect without STORAGE_S3_BUCKET'],
    [{ ...bucket, STORAGE_S3_ENDPOINT: 's3.example.com' }, 'STORAGE_S3_ENDPOINT must be a URL'],
    [{ ...bucket, STORAGE_S3_CHECKSUMS: 'never' }, 'STORAGE_S3_CHECKSUMS must be one of'],
    [{ ...bucket, STORAGE_S3_PATH_STYLE: 'yes' }, 'STORAGE_S3_PATH_STYLE must be true or false'],
  ])('is refused if half of it is set, or both: %o', (settings, message) => {
    expect(read(settings)).toThrow(message);
  });
});

describe('APPS_DOMAIN', () => {
  const read = (BASE_URL: string, APPS_DOMAIN: string, more = {}) =>
    readConfig({ ...newKeys(), BASE_URL, APPS_DOMAIN, ...more }).APPS_DOMAIN;

  it.each([
    ['https://plinth.example', 'apps.example', 'apps.example'],
    ['https://plinth.example', 'Apps.Example.', 'apps.example'],
    ['https://apps.example.org', 'apps.example', 'apps.example'],
    ['https://plinthapps.example', 'apps.example', 'apps.example'],
    ['http://127.0.0.1:8080', 'apps.localhost', 'apps.localhost'],
    ['http://localhost:8080', 'apps.localhost', 'apps.localhost'], // browsers reject cookies for `localhost`
    ['http://[::1]:8080', 'apps.localhost', 'apps.localhost'],
    ['http://plinth.localhost:8080', 'apps.localhost', 'apps.localhost'],
    ['https://plinth.github.io', 'apps.github.io', 'apps.github.io'], // on the public suffix list
    ['https://plinth.co.uk', 'apps.co.uk', 'apps.co.uk'],
  ])('beside %s may be %s', (baseUrl, domain, parsed) => {
    expect(read(baseUrl, domain)).toBe(parsed);
  });

  it.each([
    ['https://apps.example', 'apps.example'],
    ['https://plinth.apps.example', 'apps.example'],
    ['https://PLINTH.Apps.Example:8443/', 'apps.example'],
    ['https://plinth.apps.example.', 'apps.example'],
    ['http://localhost:8080', 'localhost'],
    ['http://a.localhost:8080', 'localhost'],
    ['https://plinth.example', 'apps.plinth.example'],
    ['https://plinth.example:8443', 'a.b.plinth.example'],
    ['https://plinth.acme.example', 'apps.acme.example'],
    ['https://acme.example', 'apps.acme.example'],
    ['https://a.b.acme.co.uk.', 'apps.acme.co.uk'],
    ['http://plinth.acme.localhost:8080', 'apps.acme.localhost'],
  ])('beside %s must not be %s', (baseUrl, domain) => {
    expect(() => read(baseUrl, domain)).toThrow(/APPS_DOMAIN must not/);
  });

  it('may share a registered domain if a setting says that browsers know better, but never contain the other', () => {
    const apart = { APPS_REGISTERED_APART: 'true' };
    expect(read('https://plinth.acme.example', 'apps.acme.example', apart)).toBe('apps.acme.example');
    expect(() => read('https://plinth.acme.example', 'acme.example', apart)).toThrow(/APPS_DOMAIN must not/);
    expect(() => read('https://acme.example', 'apps.acme.example', apart)).toThrow(/APPS_DOMAIN must not/);
  });

  it.each([
    'https://apps.example',
    'apps.example:8080',
    '*.apps.example',
    'apps..example',
    '127.0.0.1',
    '-a.example',
    'a b',
  ])('must be a domain name, not %s', (domain) =>
    expect(() => read('https://plinth.example', domain)).toThrow(/must be a domain name/),
  );
});

describe('ADS_CAN_CREATE', () => {
  const platform = (url: string) => ({
    ADS_PLATFORM_URL: url,
    ADS_PLATFORM_MANAGER_ID: '1',
    ADS_PLATFORM_CREDENTIALS: JSON.stringify({
      type: 'authorized_user',
      client_id: 'a',
      client_secret: 'b',
      refresh_token: 'c',
    }),
  });
  const read = (settings: object) => readConfig({ ...newKeys(), ...settings }).ADS_CAN_CREATE;

  it('lacks Smart campaigns at the live platform, unless it is set', () => {
    const live = platform('https://googleads.googleapis.com');
    expect(read({})).toEqual(['SMART', 'PERFORMANCE_MAX']);
    expect(read(platform('http://127.0.0.1:2630'))).toEqual(['SMART', 'PERFORMANCE_MAX']);
    expect(read(live)).toEqual(['PERFORMANCE_MAX']);
    expect(read({ ...live, ADS_CAN_CREATE: 'SMART' })).toEqual(['SMART']);
    expect(() => read({ ADS_CAN_CREATE: 'SEARCH' })).toThrow('ADS_CAN_CREATE must be one of');
  });
});

describe('the git host', () => {
  const host = { GIT_HOST_URL: 'https://api.github.com', GIT_HOST_CLONE_URL: 'https://github.com' };
  const read = (settings: object) => readConfig({ ...newKeys(), ...settings });
  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' });

  it('has both addresses, and an App with its key, or not', () => {
    expect(read({}).GIT_HOST_URL).toBeUndefined();
    expect(read(host)).toMatchObject({ ...host, GIT_HOST_MAX_REPOSITORY_MB: 500 });
    const { GIT_HOST_URL } = host;
    const id = '0198c217-1903-7d0a-8b2c-3e4f50617283';
    expect(() => read({ GIT_HOST_URL })).toThrow('GIT_HOST_URL and GIT_HOST_CLONE_URL must both be set, or neither');
    expect(() => read({ ...host, GIT_HOST_APP_ID: '1' })).toThrow('must both be set, or neither');
    const app = { GIT_HOST_APP_ID: '1', GIT_HOST_APP_PRIVATE_KEY: pem.toString() };
    expect(() => read(app)).toThrow('GIT_HOST_APP_ID has no effect without GIT_HOST_URL');
    expect(() => read({ ...host, GIT_HOST_APP_OWNERS: `acme=${id}` })).toThrow('no effect without GIT_HOST_APP_ID');
    expect(read({ ...host, ...app, GIT_HOST_APP_OWNERS: `Acme=${id}, acme/shop=${id}` }).GIT_HOST_APP_OWNERS).toEqual([
      { name: 'acme', workspace_id: id },
      { name: 'acme/shop', workspace_id: id },
    ]);
    for (const list of ['acme', `acme=x`, `a/b/c=${id}`, `acme=${id},`])
      expect(() => read({ ...host, ...app, GIT_HOST_APP_OWNERS: list })).toThrow('such as acme=WORKSPACE_ID');
  });

  it('reads the key of the App as a file, in one line, and in base64', () => {
    const readKey = (text: string) =>
      read({ ...host, GIT_HOST_APP_ID: '1', GIT_HOST_APP_PRIVATE_KEY: text }).GIT_HOST_APP_PRIVATE_KEY;
    const texts = [pem.toString(), pem.toString().replaceAll('\n', '\\n'), Buffer.from(pem).toString('base64')];
    for (const text of texts) expect(readKey(text)).toBe(pem.toString());
    expect(() => readKey('nonsense')).toThrow('GIT_HOST_APP_PRIVATE_KEY must be an RSA private key in PEM format');
  });
});

it.each([
  ['PAYMENTS_URL', 'http://payments.example'],
  ['ADS_PLATFORM_URL', 'http://ads.example'],
  ['GIT_HOST_URL', 'http://git.example'],
  ['GIT_HOST_CLONE_URL', 'http://git.example'],
])('%s must not be plain http, except on this machine', (name, url) => {
  expect(() => readConfig({ ...newKeys(), [name]: url })).toThrow(`${name} must begin with https:`);
  expect(readConfig({ ...newKeys(), PAYMENTS_URL: 'http://127.0.0.1:1' }).PAYMENTS_URL).toBe('http://127.0.0.1:1');
});

describe('a variable that is nearly a setting', () => {
  it.each([
    ['DATABSE_POOL_SIZE', 'DATABASE_POOL_SIZE'], // a letter is missing
    ['DATABASE_POOLSIZE', 'DATABASE_POOL_SIZE'],
    ['REDIS_ULR', 'REDIS_URL'], // two letters are swapped
    ['WORKER_SLOT', 'WORKER_SLOTS'],
    ['PORTS', 'PORT'],
    ['database_url', 'DATABASE_URL'],
  ])('is found: %s', (name, known) => {
    expect(listMisspelledSettings({ [name]: 'x' })).toEqual([{ name, known }]);
  });

  it('is none of those that a machine usually has, nor a setting itself', () => {
    const usual = ['HOME', 'HOSTNAME', 'PATH', 'PWD', 'USER', 'SHELL', 'TERM', 'PGHOST', 'PGPORT', 'TEST_DATABASE_URL'];
    const environment = Object.fromEntries([...usual, 'PORT', 'DATABASE_URL'].map((name) => [name, 'x']));
    expect(listMisspelledSettings(environment)).toEqual([]);
  });
});
