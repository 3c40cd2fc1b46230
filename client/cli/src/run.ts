// Reads the command line, loads the command that is used, and ends with an exit code.
import { Command, CommanderError } from 'commander';
import { createCli } from './cli.ts';
import { commands } from './commands.ts';
import { CommandError, describeFailure, exitCodes } from './exit.ts';
import { rememberRefusal } from './refusal.ts';
import { suggest } from './similar.ts';

export async function run(argv: readonly string[], version: string): Promise<number> {
  const program = new Command('plinthctl')
    .description('The command line of Plinth.')
    .version(version)
    .option('--profile <name>', 'the profile to use, instead of the current one')
    .option('--json', 'print JSON, also on a terminal')
    .option('--jq <filter>', 'print what this jq filter makes of the JSON')
    .option('--yes', 'remove and spend without asking')
    .option('--strict', 'end with 6 if a part of the answer could not be read')
    .helpCommand(false)
    .exitOverride()
    // Mistakes are reported below, in the form of all other failures.
    .configureOutput({ outputError: () => undefined });
  const cli = createCli(argv, version, () => program.opts());
  endQuietlyWithoutReader();
  if (argv[0] === '__complete') {
    const { complete } = await import('./complete.ts');
    const suggestions = await complete(program, cli, argv.slice(1)).catch(() => []);
    cli.output.raw(suggestions.map((each) => `${each}\n`).join(''));
    // A request may still be under way, which nobody waits for.
    process.exit(exitCodes.done);
  }
  try {
    for (const [name, { summary, load }] of Object.entries(commands)) {
      const command = program.command(name).description(summary);
      if (argv.includes(name)) await (await load()).define(command, cli);
    }
    defineHelp(program);
    await program.parseAsync(argv, { from: 'user' });
    return cli.settings().strict && cli.output.wasPartial ? exitCodes.partial : exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error))
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    const cause = error instanceof CommanderError ? describeMistake(program, argv, error) : error;
    // Calls that are aborted throw many things: what matters is that they were.
    const failure = describeFailure(cli.signal.aborted ? cli.signal.reason : cause);
    if (failure === undefined) throw error;
    process.stderr.write(`${cli.output.isForPeople ? failure.text : JSON.stringify(failure.problem)}\n`);
    if (!(cause instanceof CommandError)) await rememberRefusal(argv, failure.problem, cli.subject);
    return failure.exitCode;
  }
}

/** `help app push` means `app push --help`. */
function defineHelp(program: Command): void {
  program
    .command('help')
    .argument('[command...]')
    .description('Show how a command is used: help app push')
    // Options belong to the command that the help is about.
    .helpOption(false)
    .allowUnknownOption()
    .action(async (words: readonly string[]) => {
      const topic = words.find((word) => !word.startsWith('-'));
      // Help for a command that does not exist would otherwise be the help for all commands.
      if (topic !== undefined && !Object.hasOwn(commands, topic))
        program.error(`error: unknown command '${topic}'. ${suggest(topic, Object.keys(commands))}`.trimEnd());
      await program.parseAsync([...words, '--help'], { from: 'user' });
    });
}

const isHelp = ({ code }: CommanderError): boolean =>
  ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(code);

/** What is wrong with the command line, as a sentence, with what may have been meant. */
function describeMistake(program: Command, argv: readonly string[], { message, code }: CommanderError): CommandError {
  // Arguments that are too many may be secret, as in `secret set API_KEY sk_live_…`.
  const [shown = '', received] =
    code === 'commander.excessArguments' ? message.split(/(?<= got \d+): (.*)/s) : [message];
  const said = shown.replace(/^error: /, '').replace(/\n\((.*)\)$/s, '. $1');
  const extra = received?.split(',', 1)[0]?.replace(/\.$/, '');
  const group = program.commands.find((each) => argv.includes(each.name()));
  const meant = extra === undefined ? '' : suggest(extra, group?.commands.map((each) => each.name()) ?? []);
  const sentence = `${said.charAt(0).toUpperCase()}${said.slice(1)}`.replace(/([^.?])$/, '$1.');
  return new CommandError([sentence, meant, 'Append --help to see how the command is used.'].filter(Boolean).join(' '));
}

/** The reader of a pipe, such as `head`, may have read enough. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}
