// Owns the command line: finds the command by its name and runs it.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArguments, UsageError } from './commands/arguments.ts';
import { loadEnvFile } from './commands/env-file.ts';
import { explainFailure } from './commands/failures.ts';
import {
  adsUsage,
  bootstrapUsage,
  devUsage,
  geoUsage,
  importUsage,
  keysUsage,
  migrateUsage,
  workspaceUsage,
} from './commands/usages.ts';
import { listMisspelledSettings } from './config.ts';
import { version } from './release.ts';

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

// Workers keep their compiled modules beside the packages, where only those can write who can change the code. Without them a
// worker takes 4.5 s to start instead of 3.1 s, and after a crash of all workers nothing is delivered until one has started. The
// API does without: they take 50 MB of memory. Node would write them when a process exits, and a killed one writes nothing.
const compiledModules = fileURLToPath(new URL('../../node_modules/.cache/plinth', import.meta.url));

// A command is loaded when it runs: the API takes seconds to load, and most commands do not need it.
const commands: Readonly<Record<string, Command>> = {
  api: plain('api', 'serve the API', async () => {
    const { api } = await import('./commands/api.ts');
    await api();
  }),
  worker: plain('worker', 'run background work: events, queues, workflows and jobs', async () => {
    enableCompileCache(compiledModules);
    const { worker } = await import('./commands/worker.ts');
    flushCompileCache();
    await worker();
  }),
  migrate: {
    usage: migrateUsage,
    description:
      'apply pending database migrations and load locations; list them all; or only say what would be applied',
    run: async (args) => (await import('./commands/migrate.ts')).migrateDatabase(args),
  },
  bootstrap: {
    usage: bootstrapUsage,
    description: 'create the first user, an operator, with a workspace and an access token',
    run: async (args) => (await import('./commands/bootstrap.ts')).bootstrap(args),
  },
  import: {
    usage: importUsage,
    description: 'import an exported workspace as a new workspace',
    run: async (args) => (await import('./commands/import.ts')).importArchive(args),
  },
  geo: {
    usage: geoUsage,
    description: 'replace the bundled locations by the file that the ad platform publishes, for live campaigns',
    run: async (args) => (await import('./commands/geo.ts')).geo(args),
  },
  ads: {
    usage: adsUsage,
    description: 'print what differs between the campaigns that Plinth lists and those of the ad platform',
    run: async (args) => (await import('./commands/ads.ts')).ads(args),
  },
  user: {
    usage: 'user reset|deactivate|reactivate --user EMAIL',
    description: 'print a password reset link; deactivate an account, or reactivate it',
    run: async (args) => (await import('./commands/user.ts')).user(args),
  },
  'api-key': {
    usage: 'api-key issue --user EMAIL [--read-only]',
    description: "print a new personal API key, for integrations that can't use access tokens yet",
    run: async (args) => (await import('./commands/api-key.ts')).apiKey(args),
  },
  operator: {
    usage: 'operator add|remove --user EMAIL',
    description: 'make a user an operator of the installation, or end that',
    run: async (args) => (await import('./commands/operator.ts')).operator(args),
  },
  workspace: {
    usage: workspaceUsage,
    description: 'restore a deleted workspace',
    run: async (args) => (await import('./commands/workspace.ts')).workspace(args),
  },
  keys: {
    usage: keysUsage,
    description: 'print new keys for the environment',
    run: async (args) => (await import('./commands/keys.ts')).keys(args),
  },
  dev: {
    usage: devUsage,
    description: 'run API, worker and sandbox on this machine with demo data',
    run: async (args) => (await import('./commands/dev.ts')).dev(args),
  },
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
