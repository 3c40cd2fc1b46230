// `plinth setup`, which makes the settings, keys and passwords of a new installation: for containers beside a compose
// file, or with `--systemd` for services of this machine. It never overwrites a file.
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { ConfigError } from '../config.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { createDatabase } from './setup/database.ts';
import { writeForContainers, writeForSystemd } from './setup/folder.ts';
import { type Answers, newPasswords } from './setup/settings.ts';
import { setupUsage } from './usages.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const options = { 'base-url': text, 'apps-domain': text, systemd: flag, 'create-database': flag } as const;

export async function setup(args: string[]): Promise<void> {
  const { values, words } = parseArguments(args, { usage: setupUsage, options, maxWords: 1 });
  const { systemd, 'create-database': createsDatabase } = values;
  const [word] = words;
  if (word === undefined || (createsDatabase && !systemd)) throw new UsageError(setupUsage);
  const folder = resolve(word);
  await requireNew(folder);
  const answers = await readAnswers(values['base-url'], values['apps-domain']);
  const passwords = newPasswords();
  if (systemd) await writeForSystemd(folder, answers, passwords);
  else await writeForContainers(folder, answers, passwords);
  if (createsDatabase) await createDatabase(passwords, folder);
  console.log(describeNext(folder, { systemd, hasDatabase: createsDatabase }));
}

/** If keys were made twice, nobody could read what was stored with the first ones. */
async function requireNew(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new ConfigError(`${folder} can't be read (${error.code}). Name a folder that is empty or does not exist.`);
  });
  const found = names.filter((name) => name === 'plinth.env' || name === 'secrets');
  if (found.length > 0)
    throw new ConfigError(
      `${folder} is set up already: it contains ${found.join(' and ')}. Nothing was changed. To change a setting, edit plinth.env and start the processes again.`,
    );
}

async function readAnswers(baseUrl: string | undefined, appsDomain: string | undefined): Promise<Answers> {
  if (baseUrl !== undefined) return { baseUrl: toBaseUrl(baseUrl), appsDomain: toDomain(appsDomain ?? '') };
  if (!process.stdin.isTTY) throw new UsageError(setupUsage, 'Name the address of Plinth with --base-url.');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const address = await terminal.question('The address of Plinth, such as https://plinth.example.com: ');
    const domain = await terminal.question('The domain of published apps, such as apps.example.net, or nothing: ');
    return { baseUrl: toBaseUrl(address), appsDomain: toDomain(domain) };
  } finally {
    terminal.close();
  }
}

function toBaseUrl(text: string): URL {
  const url = URL.parse(text.trim());
  if (url?.protocol !== 'https:' || url.href !== `${url.origin}/`)
    throw new ConfigError(`The address must be like https://plinth.example.com, without a path. This is "${text}".`);
  return url;
}

function toDomain(text: string): string | undefined {
  const name = text.trim().toLowerCase();
  if (name === '') return undefined;
  if (!/^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$/.test(name))
    throw new ConfigError(`The domain must be like apps.example.net. This is "${text}".`);
  return name;
}

function describeNext(folder: string, { systemd, hasDatabase }: { systemd: boolean; hasDatabase: boolean }): string {
  const bootstrap = 'plinth bootstrap --email you@example.com --name "Your name" --workspace "Your team" --wait 120';
  const steps = systemd
    ? [
        ...(hasDatabase ? [] : [`runuser -u postgres -- psql -v ON_ERROR_STOP=1 < ${folder}/secrets/database.sql`]),
        'plinth migrate',
        'systemctl enable --now plinth-api plinth-worker plinth-strangers-worker',
        bootstrap,
      ]
    : [`cd ${folder} && docker compose up -d`, `docker compose exec api ${bootstrap}`];
  return [
    `Wrote the settings to ${folder}/plinth.env, and keys and passwords to ${folder}/secrets.`,
    'Keep a copy of the keys apart from the back-ups: without them, secrets in the database are lost.',
    'Next:',
    ...steps.map((step) => `  ${step}`),
  ].join('\n');
}
