// Owns the command line: finds the command by its name and runs it.
import { api } from './commands/api.ts';
import { apiKey } from './commands/api-key.ts';
import { bootstrap } from './commands/bootstrap.ts';
import { dev, devUsage } from './commands/dev.ts';
import { loadEnvFile } from './commands/env-file.ts';
import { importArchive, importUsage } from './commands/import.ts';
import { keys } from './commands/keys.ts';
import { migrateDatabase } from './commands/migrate.ts';
import { operator } from './commands/operator.ts';
import { user } from './commands/user.ts';
import { worker } from './commands/worker.ts';
import { workspace } from './commands/workspace.ts';
import { ConfigError } from './config.ts';

const commands: Record<string, { usage: string; description: string; run(args: string[]): Promise<void> }> = {
  api: { usage: 'api', description: 'serve the API', run: api },
  worker: { usage: 'worker', description: 'run background work: events, queues, workflows and jobs', run: worker },
  migrate: { usage: 'migrate', description: 'apply pending database migrations', run: migrateDatabase },
  bootstrap: {
    usage: 'bootstrap --email EMAIL --name NAME --workspace NAME',
    description: 'create the first user, an operator, with a workspace and an access token',
    run: bootstrap,
  },
  import: {
    usage: importUsage,
    description: 'import an exported workspace as a new workspace',
    run: importArchive,
  },
  user: {
    usage: 'user reset|deactivate|reactivate --user EMAIL',
    description: 'print a password reset link; deactivate an account, or reactivate it',
    run: user,
  },
  'api-key': {
    usage: 'api-key issue --user EMAIL [--read-only]',
    description: "print a new personal API key, for integrations that can't use access tokens yet",
    run: apiKey,
  },
  operator: {
    usage: 'operator add|remove --user EMAIL',
    description: 'make a user an operator of the installation, or end that',
    run: operator,
  },
  workspace: { usage: 'workspace restore --id ID', description: 'restore a deleted workspace', run: workspace },
  keys: { usage: 'keys new', description: 'print new keys for the environment', run: keys },
  dev: { usage: devUsage, description: 'run API, worker and sandbox on this machine with demo data', run: dev },
};

const [name = '', ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  console.error('usage: plinth COMMAND\n');
  for (const { usage, description } of Object.values(commands))
    console.error(`  plinth ${usage}\n      ${description}`);
  process.exit(name === '' ? 0 : 2);
}
loadEnvFile();
try {
  await command.run(args);
} catch (error) {
  // The message of a ConfigError says what to fix; a stack trace would only hide it.
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1); // whatever the command has opened or started would keep the process alive
}
