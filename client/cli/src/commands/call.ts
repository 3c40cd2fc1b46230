// `plinthctl call`: every operation, by its name. The flags are the arguments of the operation.
import type { Command } from 'commander';
import type { Answer, CallOptions, Plinth } from '../../../sdk/src/index.ts';
import type { Cli, Connected, Define } from '../cli.ts';
import { type DescribedArgument, type DescribedOperation, readOperations, refuseUnknown } from '../describe.ts';
import { CommandError } from '../exit.ts';
import { canBeNamed, findId } from '../names.ts';
import { table } from '../output.ts';
import { readProject } from '../project.ts';
import { summaries } from '../summaries.ts';
import { kindOf, parseArgument, parseJson, readValue } from '../values.ts';

type Flags = Readonly<Record<string, unknown>>;

/** A call of any operation: which forms make sense is in describe.json. */
interface AnyCall extends AsyncIterable<unknown> {
  answer(): Promise<Answer<unknown>>;
  stream(): AsyncIterable<unknown>;
  as(media: string): Promise<Uint8Array>;
}

export const define: Define = async (command, cli) => {
  const operations = await readOperations();
  command.argument('[operation]').action(async (name: string | undefined) => {
    if (name !== undefined) refuseUnknown(name, Object.keys(operations));
    await list(cli, operations);
  });
  // Only the operation that is called becomes a command: the others would take time and print pages of help.
  const name = cli.argv.find((each) => Object.hasOwn(operations, each));
  const operation = name === undefined ? undefined : operations[name];
  if (name !== undefined && operation !== undefined) defineOperation(command, cli, name, operation);
};

async function list(cli: Cli, operations: Readonly<Record<string, DescribedOperation>>): Promise<void> {
  const items = Object.entries(operations).map(([name, { area, effect, summary }]) => ({
    name,
    area,
    effect,
    summary,
  }));
  await cli.output.show({ items }, () =>
    table(items, [
      ['operation', ({ name }) => name],
      ['effect', ({ effect }) => effect],
      ['what it does', ({ summary }) => summary],
    ]),
  );
}

function defineOperation(parent: Command, cli: Cli, name: string, operation: DescribedOperation): void {
  const command = parent
    .command(name)
    .description([operation.summary, operation.description].filter(Boolean).join('.\n\n'))
    .exitOverride();
  for (const [argument, described] of Object.entries(operation.arguments)) {
    if (argument === 'body') continue;
    const { description = '', required } = described;
    const kind = kindOf(described);
    const value = kind === 'boolean' ? '[true|false]' : `<${kind === 'texts' ? 'text' : kind}>`;
    const need = required ? (isFilledIn(argument, described) ? ' Filled from plinth.json.' : ' Required.') : '';
    command.option(`--${argument} ${value}`, `${description}${need}`, collect);
  }
  if (Object.values(operation.arguments).some((argument) => argument.in === 'body'))
    command.option('--body <json>', 'fields of the body as JSON, @file, or - for stdin; flags come before them');
  command.option('--idempotency-key <key>', 'a value that you choose once per intended effect');
  command.option('--accept <media>', 'ask for the answer in another format, and print it as it is');
  if (operation.arguments.app_id?.in === 'path')
    command.option('--as-user <email>', 'call it as this user of the app, with a token that is valid for a minute');
  if (operation.pages) command.option('--every-page', 'print the items of all pages, one JSON document per line');
  if (operation.stream && operation.answer !== 'events') command.option('--stream', 'follow the events');
  command.action((flags: Flags) => perform(cli, name, operation, flags));
}

/** Whether plinth.json says it, unless the command line does. */
const isFilledIn = (name: string, argument: DescribedArgument | undefined): boolean =>
  name === 'app_id' && argument?.in === 'path';

/** A flag for true or false needs no value. */
const collect = (value: string | boolean, earlier: readonly string[] = []): string[] => [...earlier, String(value)];

async function perform(cli: Cli, name: string, operation: DescribedOperation, flags: Flags): Promise<void> {
  const written = await readArguments(operation, flags);
  const connected = await cli.connect();
  const args = await findIds(connected.plinth, operation, written);
  if (operation.effect === 'remove' || operation.effect === 'spend')
    await cli.prompts.confirm(
      `${operation.summary}.${operation.effect === 'spend' ? ' This may cost credits or money.' : ''}`,
    );
  const { plinth, app_user_id } = await actAs(cli, connected, args.app_id, flags.asUser);
  cli.about({ operation: name, ...pickNames(operation, args), ...(app_user_id !== undefined && { app_user_id }) });
  const methods = plinth as unknown as Record<string, (args: Flags, options: CallOptions) => AnyCall>;
  const key = flags.idempotencyKey as string | undefined;
  const call = methods[name]?.(args, { signal: cli.signal, ...(key !== undefined && { idempotencyKey: key }) });
  if (call === undefined) throw new CommandError(`This version of plinthctl can't call ${name}.`, 'no_operation');
  const { output } = cli;
  if (typeof flags.accept === 'string')
    return output.raw(await output.during(operation.summary, call.as(flags.accept)));
  if (flags.stream || operation.answer === 'events') {
    for await (const event of call.stream()) await output.line(event);
    return;
  }
  if (flags.everyPage || operation.answer === 'lines') {
    for await (const item of call) await output.line(item);
    return;
  }
  const { data } = await output.during(operation.summary, call.answer());
  if (operation.answer === 'text' || operation.answer === 'bytes') return output.raw(data as string | Uint8Array);
  await output.show(data, summaries[name] && (() => summaries[name]?.(data) ?? ''));
}

/** What a person calls a thing becomes its id. */
async function findIds(
  plinth: Plinth,
  operation: DescribedOperation,
  written: Flags,
): Promise<Record<string, unknown>> {
  const args = { ...written };
  const places = Object.keys(operation.arguments).filter((name) => operation.arguments[name]?.in !== 'body');
  for (const name of places) {
    const value = args[name];
    if (typeof value === 'string' && canBeNamed(name, args)) args[name] = await findId(plinth, name, value, args);
  }
  return args;
}

/** The arguments that say what the call is about. Those in the body are content, and a token is a secret. */
const pickNames = (operation: DescribedOperation, args: Flags): Flags =>
  Object.fromEntries(
    Object.entries(args).filter(([name]) => operation.arguments[name]?.in === 'path' && !name.endsWith('_token')),
  );

interface Caller {
  readonly plinth: Plinth;
  readonly app_user_id?: string;
}

/** A client that is a user of the app, for a minute. */
async function actAs(cli: Cli, { plinth, url }: Connected, app_id: unknown, email: unknown): Promise<Caller> {
  if (typeof email !== 'string' || typeof app_id !== 'string') return { plinth };
  const app_user_id = await findId(plinth, 'user_id', email, { app_id });
  const { token } = await plinth.createAppUserToken({ app_id, user_id: app_user_id, expires_in_seconds: 60 });
  return { plinth: cli.clientOf(url, token ?? ''), app_user_id };
}

async function readArguments(operation: DescribedOperation, flags: Flags): Promise<Record<string, unknown>> {
  const body = typeof flags.body === 'string' ? parseJson(await readValue(flags.body), '--body') : undefined;
  const isWhole = operation.arguments.body !== undefined;
  if (!isWhole && body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
    throw new CommandError('--body must be a JSON object, whose members are the fields of the body.');
  const args: Record<string, unknown> = isWhole ? { ...(body !== undefined && { body }) } : { ...(body as object) };
  for (const [name, described] of Object.entries(operation.arguments)) {
    const values = flags[name];
    if (name !== 'body' && Array.isArray(values)) args[name] = await parseArgument(name, described, values);
  }
  if (args.app_id === undefined && isFilledIn('app_id', operation.arguments.app_id)) {
    const project = await readProject();
    if (project !== undefined) args.app_id = project.app_id;
  }
  const missing = Object.entries(operation.arguments)
    .filter(([name, { required }]) => required && args[name] === undefined)
    .map(([name]) => `--${name}`);
  if (missing.length > 0)
    throw new CommandError(
      `Missing: ${missing.join(', ')}. ${missing.includes('--app_id') ? 'Name the app, or change to a folder with plinth.json. ' : ''}Append --help to see what they are.`,
    );
  return args;
}
