// Parses the arguments of commands. An unknown argument is rejected, and the command's usage is printed.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';

/** Thrown if a command is called with wrong arguments. The exit code is 2. */
export class UsageError extends ConfigError {
  constructor(usage: string, fault?: string) {
    super([...(fault === undefined ? [] : [fault]), `usage: plinth ${usage}`].join('\n'));
  }
}

interface Accepted<Options> {
  readonly usage: string;
  readonly options?: Options;
  /** The maximum number of words besides options, such as a verb or a file name. */
  readonly maxWords?: number;
}

/** Returns the options and words. Throws a UsageError for an option or word that the command does not accept. */
export function parseArguments<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  { usage, options, maxWords = 0 }: Accepted<Options>,
) {
  const { values, positionals } = parseStrictly(args, usage, options ?? ({} as Options));
  if (positionals.length > maxWords) throw new UsageError(usage, `Unexpected argument '${positionals[maxWords]}'.`);
  return { values, words: positionals };
}

function parseStrictly<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  usage: string,
  options: Options,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    // Only the first sentence of Node's message describes the problem. The rest explains how to pass words that start
    // with a dash.
    const [fault] = (error as Error).message.split(/\.\s/);
    throw new UsageError(usage, `${fault?.replace(/\.$/, '')}.`);
  }
}
