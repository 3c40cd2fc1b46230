// Owns the command line: finds the command by its name and runs it.
import { version } from './app.ts';
import { api } from './commands/api.ts';
import { apiKey } from './commands/api-key.ts';
import { parseArguments, UsageError } from './commands/arguments.ts';
import { bootstrap, bootstrapUsage } from './commands/bootstrap.ts';
import { dev, devUsage } from './commands/dev.ts';
import { loadEnvFile } from './commands/env-file.ts';
import { explainFailure } from './commands/failures.ts';
import { importArchive, importUsage } from './commands/import.ts';
import { keys, keysUsage } from './commands/keys.ts';
import { migrateDatabase, migrateUsage } from './commands/migrate.ts';
import { operator } from './commands/operator.ts';
import { user } from './commands/user.ts';
import { worker } from './commands/worker.ts';
import { workspace, workspaceUsage } from './commands/workspace.ts';
import { listMisspelledSettings } from './config.ts';

interface Command {
  readonly usage: string;
  readonly description: string;
  run(args: string[]): Promise<void>;
}

/** A command that takes no arguments. */
const plain = (usage: string, description: string, run: () => Promise<void>): Command => ({
  usage,
  description,
  run: (args) => {
    parseArguments(args, { usage });
    return run();
  },
});

const commands: Readonly<Record<string, Command>> = {
  api: plain('api', 'serve the API', api),
  worker: plain('worker', 'run background work: events, queues, workflows and jobs', worker),
  migrate: {
    usage: migrateUsage,
    description: 'apply pending database migrations; list them all; or only say what would be applied',
    run: migrateDatabase,
  },
  bootstrap: {
    usage: bootstrapUsage,
    description: 'create the first user, an operator, with a workspace and an access token',
    run: bootstrap,
  },
  import: { usage: importUsage, description: 'import an exported workspace as a new workspace', run: importArchive },
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
  workspace: { usage: workspaceUsage, description: 'restore a deleted workspace', run: workspace },
  keys: { usage: keysUsage, description: 'print new keys for the environment', run: keys },
  dev: { usage: devUsage, description: 'run API, worker and sandbox on this machine with demo data', run: dev },
};

const describeCommand = ({ usage, description }: Command): string => `  plinth ${usage}\n      ${description}`;
const help = [
  'usage: plinth COMMAND\n',
  ...Object.values(commands).map(describeCommand),
  '\n  --help      this list, or after a command what that command does',
  '  --version   the version of Plinth',
].join('\n');

async function runCommandLine([name = '--help', ...args]: string[]): Promise<void> {
  if (name === '--help' || name === '-h') return console.log(help);
  if (name === '--version') return console.log(`plinth ${version}`);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw new UsageError('COMMAND', `There is no command '${name}'. List them: plinth --help`);
  if (args.includes('--help') || args.includes('-h')) return console.log(describeCommand(command));
  loadEnvFile();
  for (const { name, known } of listMisspelledSettings())
    console.error(`${name} is not a setting of Plinth and has no effect. Did you mean ${known}?`);
  await command.run(args);
}

try {
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  console.error(explainFailure(error) ?? error);
  // Open connections would keep the process running.
  process.exit(error instanceof UsageError ? 2 : 1);
}
