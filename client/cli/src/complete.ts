// What can follow on the command line, for `plinthctl __complete`, which the scripts of `plinthctl completion` call: one
// suggestion per line. It never fails and never waits long, because a person is typing.
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { commands } from './commands.ts';
import { readErrors, readOperations } from './describe.ts';
import { canBeListed, listNames } from './names.ts';

/** How long names are looked up on the server. */
const patienceMs = 1000;

export async function complete(program: Command, cli: Cli, words: readonly string[]): Promise<string[]> {
  const current = words.at(-1) ?? '';
  const before = words.slice(words[0] === 'help' ? 1 : 0, -1);
  const [name] = before.filter((word) => !word.startsWith('-'));
  const entry = name === undefined ? undefined : commands[name];
  if (name === undefined || entry === undefined)
    return keep(current, [...Object.keys(commands), 'help', ...optionsOf(program)]);
  const command = new Command(name);
  // `call` defines the operation that the command line names.
  await (await entry.load()).define(command, { ...cli, argv: before });
  const typed = withoutOptions(before, [program, command, ...command.commands]);
  const chosen = command.commands.find((each) => each.name() === typed[1]) ?? command;
  const last = before.at(-1) ?? '';
  if (last.startsWith('--') && takesValue(last, [program, command, chosen]))
    return keep(current, await suggestValues(cli, last.slice(2), before));
  const options = [...optionsOf(chosen), ...optionsOf(program)];
  if (current.startsWith('-')) return keep(current, options);
  const operations = name === 'call' && chosen === command ? Object.keys(await readOperations()) : [];
  const subcommands = chosen === command ? command.commands.map((each) => each.name()) : [];
  const position = typed.length - (chosen === command ? 1 : 2);
  const argument = chosen.registeredArguments[position]?.name();
  const values = argument === undefined ? [] : await suggestValues(cli, argument, before);
  return keep(current, [...operations, ...subcommands, ...values, ...options]);
}

const optionsOf = (command: Command): string[] => command.options.flatMap(({ long }) => long ?? []);

const takesValue = (word: string, among: readonly Command[]): boolean =>
  among.some(({ options }) => options.some(({ long, required }) => long === word && required));

/** The words that are neither options nor values of options. */
const withoutOptions = (words: readonly string[], among: readonly Command[]): string[] =>
  words.filter((word, index) => !word.startsWith('-') && !takesValue(words[index - 1] ?? '', among));

const keep = (current: string, suggestions: readonly string[]): string[] =>
  [...new Set(suggestions)].filter((each) => each.startsWith(current)).sort();

/** What arguments and options are named after, where it is not `<thing>_id`. */
const things: Readonly<Record<string, string>> = { entity: 'entity_name', as: 'user_id', 'as-user': 'user_id' };

/** The values of an argument or option: `--app` and `--app_id` take the names of apps. */
async function suggestValues(cli: Cli, name: string, words: readonly string[]): Promise<string[]> {
  if (name === 'code') return Object.keys(await readErrors());
  if (name === 'shell') return ['bash', 'zsh', 'fish'];
  const argument = things[name] ?? (/_(id|name)$/.test(name) ? name : `${name}_id`);
  if (!canBeListed(argument)) return [];
  const wordAfter = (...options: string[]) => words[words.findIndex((word) => options.includes(word)) + 1 || Infinity];
  const look = async (): Promise<string[]> => {
    if (argument === 'app_id' || argument === 'agent_id') return listNames((await cli.connect()).plinth, argument, {});
    const agent = wordAfter('--agent', '--agent_id');
    const { plinth, ...ids } = await (agent === undefined
      ? cli.connectToApp(wordAfter('--app', '--app_id'))
      : cli.connectToAgent(agent));
    return listNames(plinth, argument, ids);
  };
  return Promise.race([look().catch(() => []), sleep(patienceMs, [], { ref: false })]);
}
