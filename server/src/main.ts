// The command line: finding a command by name and running it.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArguments, UsageError } from './commands/arguments.ts';
import { loadEnvFile } from './commands/env-file.ts';
import { explainFailure } from './commands/failures.ts';
import {
  adsUsage,
  backupUsage,
  bootstrapUsage,
  devUsage,
  doctorUsage,
  geoUsage,
  healthUsage,
  importUsage,
  keysUsage,
  migrateUsage,
  queuesUsage,
  restoreUsage,
  setupUsage,
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

// Workers cache their compiled modules next to the packages, in a folder that only users who can change the code can
// write to. Without the cache, a worker takes 4.5 s to start instead of 3.1 s, and if all workers crash, nothing is
// delivered until one has started. The API does not use the cache, because it takes 50 MB of memory. Workers write it
// right after loading, because Node would only write it when the process exits, which a killed process never does.
const compiledModules = fileURLToPath(new URL('../../node_modules/.cache/plinth', import.meta.url));

// Each command is loaded only when it runs, because the API takes seconds to load and most commands do not need it.
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
  health: {
    usage: healthUsage,
    description: 'ask the API on this machine, or a worker, whether it is alive; with --wait, until it is',
    run: async (args) => (await import('./commands/health.ts')).health(args),
  },
  setup: {
    usage: setupUsage,
    description:
      'write the settings, keys and passwords of a new installation into a folder: with a compose file, or for services of this machine',
    run: async (args) => (await import('./commands/setup.ts')).setup(args),
  },
  doctor: {
    usage: doctorUsage,
    description:
      'check settings, services and providers, and say what to do about each; with --model, try what the language model can do, which costs tokens',
    run: async (args) => (await import('./commands/doctor.ts')).doctor(args),
  },
  migrate: {
    usage: migrateUsage,
    description:
      'apply pending database migrations and load locations; list all migrations; or only show what would be applied',
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
    description: 'replace the bundled locations with the file that the ad platform publishes, for live campaigns',
    run: async (args) => (await import('./commands/geo.ts')).geo(args),
  },
  ads: {
    usage: adsUsage,
    description: "print the differences between Plinth's list of campaigns and the ad platform's",
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
    usage: 'operator add|remove --user EMAIL [--force]',
    description: 'make a user an operator of the installation, or remove that role',
    run: async (args) => (await import('./commands/operator.ts')).operator(args),
  },
  queues: {
    usage: queuesUsage,
    description:
      'list queues; show rows and why one does not run; retry failed rows; cancel waiting ones; pause a queue, and resume it',
    run: async (args) => (await import('./commands/queues.ts')).queues(args),
  },
  workspace: {
    usage: workspaceUsage,
    description: 'restore a deleted workspace',
    run: async (args) => (await import('./commands/workspace.ts')).workspace(args),
  },
  keys: {
    usage: keysUsage,
    description:
      'print new keys for the environment; let processes start without a key that is lost; or print the keys of a copy',
    run: async (args) => (await import('./commands/keys.ts')).keys(args),
  },
  backup: {
    usage: backupUsage,
    description:
      'write database and stored objects into a new folder in DIR; or restore such a folder into a scratch database to see whether it is whole',
    run: async (args) => (await import('./commands/backup.ts')).backup(args),
  },
  restore: {
    usage: restoreUsage,
    description: 'load a back-up into an empty database and the storage, and compare them with it',
    run: async (args) => (await import('./commands/restore.ts')).restore(args),
  },
  dev: {
    usage: devUsage,
    description: 'run API, worker and sandbox on this machine with demo data',
    run: async (args) => (await import('./commands/dev.ts')).dev(args),
  },
};

const describeCommand = ({ usage, description }: Command): string => `  plinth ${usage}\n      ${description}`;
const help = [
  'usage: plinth COMMAND, which is run by: npm run plinth -- COMMAND\n',
  ...Object.values(commands).map(describeCommand),
  '\n  --help      show this list or, after a command, what that command does',
  '  --version   show the version of Plinth',
].join('\n');

async function runCommandLine([name = '--help', ...args]: string[]): Promise<void> {
  if (name === '--help' || name === '-h') return console.log(help);
  if (name === '--version') return console.log(`plinth ${version}`);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined)
    throw new UsageError('COMMAND', `There is no command '${name}'. To list the commands, run: plinth --help`);
  if (args.includes('--help') || args.includes('-h')) return console.log(describeCommand(command));
  loadEnvFile();
  // `plinth doctor` reports them itself.
  const misspelled = name === 'doctor' ? [] : listMisspelledSettings();
  for (const { name, known } of misspelled)
    console.error(`${name} is not a Plinth setting and has no effect. Did you mean ${known}?`);
  await command.run(args);
}

try {
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  console.error(explainFailure(error) ?? error);
  // Open connections would keep the process running.
  process.exit(error instanceof UsageError ? 2 : 1);
}
