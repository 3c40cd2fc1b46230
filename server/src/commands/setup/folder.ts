// Writes the folder of a new installation.
import { chmod, chown, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ConfigError } from '../../config.ts';
import { composeFiles, version } from '../../release.ts';
import { type Answers, newSecrets, type Passwords, toSettings, toSql } from './settings.ts';

/** In the network of compose.yaml, only the proxy sends requests to the API, and its address is one of these. */
const privateNetworks = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';

/** Any user of a container can read the files that are mounted in it; the folder keeps out the users of the machine. */
export async function writeForContainers(folder: string, answers: Answers, passwords: Passwords): Promise<void> {
  const { hostname, port } = answers.baseUrl;
  const compose = [
    '# What compose.yaml reads.',
    `PLINTH_VERSION=${version}`,
    `PLINTH_HOST=${hostname}`,
    ...(port === '' ? [] : [`HTTPS_PORT=${port}`]),
  ].join('\n');
  const settings = toSettings(answers, '/run/secrets', [
    'REDIS_URL=redis://redis:6379',
    'INTERNAL_HOST=0.0.0.0',
    'INTERNAL_PORT=8081',
    `TRUSTED_PROXIES=${privateNetworks}`,
  ]);
  const secrets = newSecrets(passwords, 'postgres:5432');
  const more = { postgres_password: passwords.superuser, 'database.sql': toSql(passwords) };
  await mkdir(join(folder, 'secrets'), { recursive: true, mode: 0o700 });
  for (const [name, value] of Object.entries({ ...secrets, ...more }))
    await write(join(folder, 'secrets', name), value, 0o644);
  await write(join(folder, 'plinth.env'), settings, 0o644);
  await write(join(folder, '.env'), compose, 0o644);
  for (const file of composeFiles) await copyFile(file, join(folder, basename(file)));
}

/** Root owns everything. The user `plinth` reads what the processes need. */
export async function writeForSystemd(folder: string, answers: Answers, passwords: Passwords): Promise<void> {
  const gid = await findGroup('plinth');
  const secretsFolder = join(folder, 'secrets');
  const settings = toSettings(answers, secretsFolder, [
    'STORAGE_FOLDER=/var/lib/plinth',
    'INTERNAL_PORT=8081',
    'TRUSTED_PROXIES=127.0.0.1',
  ]);
  const { migrate_database_url, ...secrets } = newSecrets(passwords, '127.0.0.1:5432');
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  await mkdir(secretsFolder);
  await chmod(secretsFolder, 0o750);
  await chown(secretsFolder, 0, gid);
  for (const [name, value] of Object.entries(secrets)) {
    await write(join(secretsFolder, name), value, 0o640);
    await chown(join(secretsFolder, name), 0, gid);
  }
  await write(join(secretsFolder, 'migrate_database_url'), migrate_database_url, 0o600);
  await write(join(secretsFolder, 'database.sql'), toSql(passwords), 0o600);
  await write(join(folder, 'plinth.env'), settings, 0o644);
}

async function findGroup(name: string): Promise<number> {
  if (process.getuid?.() !== 0) throw new ConfigError('Only root can set up services of this machine. Use sudo.');
  const groups = await readFile('/etc/group', 'utf8');
  const gid = new RegExp(`^${name}:[^:]*:(\\d+):`, 'm').exec(groups)?.[1];
  if (gid === undefined)
    throw new ConfigError(
      `There is no group "${name}". Install the package of Plinth first, or run: adduser --system --group ${name}`,
    );
  return Number(gid);
}

/** Fails if the file exists. The umask of this process has no effect on the mode. */
async function write(path: string, content: string, mode: number): Promise<void> {
  await writeFile(path, `${content}\n`, { flag: 'wx', mode: 0o600 });
  await chmod(path, mode);
}
