// Owns the arguments of commands: what a command does not know is refused with its usage.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';

/** The command line was called wrongly: exit code 2. */
export class UsageError extends ConfigError {
  constructor(usage: string, fault?: string) {
    super([...(fault === undefined ? [] : [fault]), `usage: plinth ${usage}`].join('\n'));
  }
}

interface Accepted<Options> {
  readonly usage: string;
  readonly options?: Options;
  /** How many words may stand beside the options, such as a verb or a file. */
  readonly maxWords?: number;
}

/** Returns the options and words. Throws a UsageError for an option or a word that the command does not have. */
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
    // Node explains in its first sentence what is wrong, and then how to pass words that begin with a dash.
    const [fault] = (error as Error).message.split(/\.\s/);
    throw new UsageError(usage, `${fault?.replace(/\.$/, '')}.`);
  }
}
