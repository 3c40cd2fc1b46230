// The settings, secrets and roles of a new installation, as texts.
import { randomBytes } from 'node:crypto';
import { newKeys } from '../keys.ts';

export interface Answers {
  readonly baseUrl: URL;
  /** If undefined, apps are published below the address of Plinth. */
  readonly appsDomain: string | undefined;
}

/** The passwords in PostgreSQL. */
export interface Passwords {
  readonly superuser: string;
  /** Of the role that owns the tables. */
  readonly owner: string;
  /** Of the role of the API and the workers. */
  readonly run: string;
}

export const newPasswords = (): Passwords => ({
  superuser: newPassword(),
  owner: newPassword(),
  run: newPassword(),
});

/** Needs no encoding in a URL, in SQL or in a shell. */
const newPassword = (): string => randomBytes(24).toString('hex');

export const toSql = ({ owner, run }: Passwords): string =>
  [
    `create role plinth_owner login createdb password '${owner}';`,
    `create role plinth_run login password '${run}';`,
    'grant pg_read_all_stats to plinth_run;',
    "create database plinth owner plinth_owner encoding 'UTF8' locale 'C.UTF-8' template template0;",
  ].join('\n');

/** One text per file. `server` is the host and port of PostgreSQL. */
export function newSecrets({ owner, run }: Passwords, server: string) {
  const { TOKEN_PEPPERS = '', SIGNING_KEY = '', MASTER_KEYS = '' } = newKeys();
  return {
    database_url: `postgres://plinth_run:${run}@${server}/plinth`,
    migrate_database_url: `postgres://plinth_owner:${owner}@${server}/plinth`,
    token_peppers: TOKEN_PEPPERS,
    signing_key: SIGNING_KEY,
    master_keys: MASTER_KEYS,
    metrics_token: newPassword(),
  };
}

/** What every process reads from a file. The URL of the owner is only for `plinth migrate`. */
const shared = ['database_url', 'token_peppers', 'signing_key', 'master_keys', 'metrics_token'] as const;

/** Returns the content of `plinth.env`. `secrets` is the folder with the files. */
export const toSettings = ({ baseUrl, appsDomain }: Answers, secrets: string, more: readonly string[]): string =>
  [
    '# The settings of this installation. They are read when a process starts.',
    `BASE_URL=${baseUrl.origin}`,
    ...(appsDomain === undefined ? [] : [`APPS_DOMAIN=${appsDomain}`]),
    ...more,
    ...shared.map((name) => `${name.toUpperCase()}_FILE=${secrets}/${name}`),
  ].join('\n');
