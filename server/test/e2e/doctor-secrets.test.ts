// Tests that `plinth doctor` never prints a secret, whatever happens to its checks: secrets are planted in every setting
// that can hold one, and searched for in everything that the command prints.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { listSettings } from '../../src/config.ts';
import { commandLine } from './command.ts';
import { startEchoingMailServer, startEchoServer, startSilentServer } from './doctor-services.ts';

const [closed, echo, echoingMail, silent] = await Promise.all([
  freePort(),
  startEchoServer(),
  startEchoingMailServer(),
  startSilentServer(),
]);
afterAll(() => Promise.all([echo, echoingMail, silent].map((each) => each.close())));

const secrets = new Set<string>();
/** Makes a secret that occurs nowhere else. */
function newSecret(): string {
  const secret = `hush-${randomBytes(9).toString('hex')}`;
  secrets.add(secret);
  return secret;
}
function newKey(): string {
  const key = randomBytes(32).toString('base64');
  secrets.add(key);
  return key;
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
for (const line of pem.split('\n').slice(1, -2)) secrets.add(line);

const clientSecrets = listSettings()
  .map(({ name }) => name)
  .filter((name) => /^CONNECTOR_\w+_CLIENT_SECRET$/.test(name));

/** Settings without addresses. */
const plainSecrets: Record<string, string> = {
  TOKEN_PEPPERS: `a:${newKey()},b:${newKey()}`,
  SIGNING_KEY: newKey(),
  MASTER_KEYS: `a:${newKey()}`,
  PLINTH_SETUP_TOKEN: newSecret(),
  PLINTH_KEYS_PASSPHRASE: newSecret(),
  STORAGE_S3_SECRET_ACCESS_KEY: newSecret(),
  MODEL_API_KEY: newSecret(),
  PAYMENTS_SECRET_KEY: newSecret(),
  METRICS_TOKEN: newSecret(),
  GIT_HOST_APP_PRIVATE_KEY: pem.replaceAll('\n', '\\n'),
  ...Object.fromEntries(clientSecrets.map((name) => [name, newSecret()])),
};

/** The settings that are addresses, each with a password. `at` is the host and port of every server. */
function listAddresses(at: string, mailAt = at): Record<string, string> {
  const withPassword = (protocol: string, path = '', place = at) =>
    `${protocol}://someone:${newSecret()}@${place}${path}`;
  return {
    DATABASE_URL: withPassword('postgres', '/plinth'),
    MIGRATE_DATABASE_URL: `postgres://owner@${at}/plinth?password=${newSecret()}`,
    REDIS_URL: withPassword('redis'),
    SMTP_URL: withPassword('smtp', '', mailAt),
    STORAGE_S3_ENDPOINT: withPassword('http'),
    // The platform's client sends credentials to an address without a password, too.
    MODEL_URL: `http://${at}/v1`,
    GIT_HOST_URL: `http://${at}`,
    GIT_HOST_CLONE_URL: withPassword('http'),
    ADS_PLATFORM_URL: `http://${at}`,
    PAYMENTS_URL: `http://${at}`,
    ADVISORIES_URL: withPassword('http'),
    CONNECTOR_SANDBOX_URL: withPassword('http'),
    BASE_URL: withPassword('https', '', at.replace('127.0.0.1', 'localhost')),
  };
}

const otherSettings = (at: string): Record<string, string> => ({
  STORAGE_S3_BUCKET: 'files',
  STORAGE_S3_ACCESS_KEY_ID: 'AKIA',
  STORAGE_S3_PATH_STYLE: 'true',
  ADS_PLATFORM_MANAGER_ID: '1000000001',
  ADS_PLATFORM_CREDENTIALS: JSON.stringify({
    type: 'authorized_user',
    client_id: 'client',
    client_secret: newSecret(),
    refresh_token: newSecret(),
    token_uri: `http://${at}/token`,
  }),
  GIT_HOST_APP_ID: '1',
  ...Object.fromEntries(clientSecrets.map((name) => [name.replace('SECRET', 'ID'), 'client'])),
  BROWSER_EXECUTABLE: '/usr/bin/no-browser',
  COMMAND_SANDBOX_BWRAP: 'off',
});

const allSettings = (at: string, mailAt = at): Record<string, string> => ({
  ...plainSecrets,
  ...listAddresses(at, mailAt),
  ...otherSettings(at),
});

/** Everything that the command prints, in all its forms. */
async function printAll(settings: Record<string, string>): Promise<string> {
  const { plinth } = commandLine(settings);
  const runs = [[], ['--json', '--model']].map((flags) =>
    plinth('doctor', ...flags).then(
      ({ stdout, stderr }) => stdout + stderr,
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    ),
  );
  return (await Promise.all(runs)).join('\n');
}

function findSecrets(output: string): string[] {
  return [...secrets].filter((secret) => {
    const encoded = Buffer.from(secret).toString('base64').replace(/=+$/, '');
    return [secret, encodeURIComponent(secret), encoded, secret.slice(5)].some((form) => output.includes(form));
  });
}

it('every setting that can hold a secret has one in these tests', () => {
  const planted = Object.keys(allSettings('127.0.0.1:1'));
  const canHold = listSettings()
    .map(({ name }) => name)
    .filter((name) => /SECRET|KEY|TOKEN|PEPPER|CREDENTIAL|PASSWORD|URL|ENDPOINT/.test(name))
    .filter((name) => name !== 'PERSONAL_API_KEYS_UNTIL' && name !== 'APPS_BELOW_BASE_URL'); // a date, and yes or no
  expect(canHold.filter((name) => !planted.includes(name))).toEqual([]);
});

describe('no secret is printed', () => {
  it('if nothing listens anywhere', async () => {
    const output = await printAll(allSettings(`127.0.0.1:${closed}`));
    expect(output).toContain('ECONNREFUSED');
    expect(findSecrets(output)).toEqual([]);
  });

  it('if servers repeat what they are sent', async () => {
    const output = await printAll(allSettings(`127.0.0.1:${echo.port}`, `127.0.0.1:${echoingMail.port}`));
    expect(output).toContain('535 refused: AUTH PLAIN ***'); // the answer is shown, without what it repeats
    expect(findSecrets(output)).toEqual([]);
  });

  it('if addresses of HTTP servers contain passwords', async () => {
    const at = `127.0.0.1:${echo.port}`;
    const names = ['MODEL_URL', 'GIT_HOST_URL', 'ADS_PLATFORM_URL', 'PAYMENTS_URL'];
    const passwords = Object.fromEntries(names.map((name) => [name, `http://someone:${newSecret()}@${at}`]));
    expect(findSecrets(await printAll({ ...allSettings(at), ...passwords }))).toEqual([]);
  });

  it('if no server answers', async () => {
    const settings = { ...allSettings(`127.0.0.1:${silent.port}`), MODEL_URL: `http://127.0.0.1:${closed}` };
    const output = await printAll(settings);
    expect(output).toContain('no answer');
    expect(findSecrets(output)).toEqual([]);
  });

  it('if the values of settings are invalid', async () => {
    const at = `127.0.0.1:${closed}`;
    const names = [...Object.keys({ ...plainSecrets, ...listAddresses(at) }), 'ADS_PLATFORM_CREDENTIALS'];
    const invalid = Object.fromEntries(names.map((name) => [name, newSecret()]));
    const output = await printAll({ ...otherSettings(at), ...invalid });
    expect(output).toContain('TOKEN_PEPPERS must be a comma-separated list');
    expect(findSecrets(output)).toEqual([]);
  });
});
