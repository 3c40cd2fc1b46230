// The command line; nothing else.
import { existsSync } from 'node:fs';
import { api } from './commands/api.ts';
import { bootstrap } from './commands/bootstrap.ts';
import { dev } from './commands/dev.ts';
import { importArchive } from './commands/import.ts';
import { keys } from './commands/keys.ts';
import { migrateDatabase } from './commands/migrate.ts';
import { apiKey, operator, user, workspace } from './commands/people.ts';
import { worker } from './commands/worker.ts';
import { ConfigError } from './config.ts';

const commands: Record<string, { about: string; run(args: string[]): Promise<void> }> = {
  api: { about: 'serve the API', run: api },
  migrate: { about: 'bring the database to this release’s schema', run: migrateDatabase },
  worker: { about: 'run everything that happens later', run: worker },
  bootstrap: { about: 'make the first person, workspace and token: --email E --name N --workspace W', run: bootstrap },
  import: { about: '`import ARCHIVE [--keep-plan]`: restore an export as a new workspace', run: importArchive },
  user: { about: '`user reset --user E`: print a link that sets a new password', run: user },
  'api-key': {
    about: '`api-key issue --user E [--read-only]`: for integrations that cannot use tokens yet',
    run: apiKey,
  },
  operator: { about: '`operator add --user E`: let a person run the installation', run: operator },
  workspace: { about: '`workspace restore --id ID`: bring back a deleted workspace', run: workspace },
  keys: { about: '`keys new`: print new keys for the environment', run: keys },
  dev: { about: 'everything at once on this machine, with demo data', run: dev },
};

const [name = '', ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  console.error('usage: plinth COMMAND\n');
  for (const [name, { about }] of Object.entries(commands)) console.error(`  ${name.padEnd(10)} ${about}`);
  process.exit(name === '' ? 0 : 2);
}
if (existsSync('.env')) process.loadEnvFile('.env');
try {
  await command.run(args);
} catch (error) {
  // A stopped set-up is explained by its message; a stack trace would only hide it.
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
}
