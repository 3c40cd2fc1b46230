// Creates the roles and the database, as PostgreSQL's superuser on this machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ConfigError } from '../../config.ts';
import { type Passwords, toSql } from './settings.ts';

export async function createDatabase(passwords: Passwords, folder: string): Promise<void> {
  const psql = ['psql', '--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1'];
  const child = spawn('runuser', ['-u', 'postgres', '--', ...psql], { cwd: '/', stdio: ['pipe', 'inherit', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (chunk) => (printed += chunk));
  child.stdin.on('error', () => {}); // psql has ended, and says why
  child.stdin.end(toSql(passwords));
  const [code] = await once(child, 'close');
  if (code === 0) return;
  throw new ConfigError(
    `The database could not be created: ${printed.trim()}\nThe settings are written. When PostgreSQL runs, create it with: runuser -u postgres -- psql -v ON_ERROR_STOP=1 < ${folder}/secrets/database.sql`,
  );
}
