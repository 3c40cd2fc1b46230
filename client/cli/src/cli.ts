// What commands are given: the settings, the client, output and prompts.
import type { Command } from 'commander';
import { Plinth, type PlinthApp } from '../../sdk/src/index.ts';
import { CommandError } from './exit.ts';
import { findId } from './names.ts';
import { createOutput, type Output, type OutputSettings } from './output.ts';
import { type Connection, findConnection } from './profiles.ts';
import { readProject } from './project.ts';
import { createPrompts, type Prompts } from './prompts.ts';

/** The options that every command has. */
export interface Settings extends OutputSettings {
  readonly profile?: string;
  readonly yes?: boolean;
  readonly strict?: boolean;
}

export interface Cli {
  readonly argv: readonly string[];
  readonly version: string;
  readonly settings: () => Settings;
  readonly output: Output;
  readonly prompts: Prompts;
  /** Aborted when the person presses Ctrl+C. Pass it to calls that take long. */
  readonly signal: AbortSignal;
  /** Says what the command is about, for `plinthctl explain`: the operation, and the ids that it was called with. */
  about(names: Readonly<Record<string, unknown>>): void;
  /** What `about` said last. */
  readonly subject: Readonly<Record<string, unknown>>;
  /** The client of the chosen profile. */
  connect(): Promise<Connected>;
  /** A client of any installation, with or without a token. */
  clientOf(url: string, token?: string, workspaceId?: string): Plinth;
  /** The client, and an app: the one that was named, or that of plinth.json. */
  connectToApp(named?: string): Promise<ConnectedToApp>;
  /** The client, and the agent with this id or name. */
  connectToAgent(named: string): Promise<Connected & { readonly agent_id: string }>;
}

/** Adds arguments, options, subcommands and the action to a command. Each file of `commands` exports one as `define`. */
export type Define = (command: Command, cli: Cli) => void | Promise<void>;

export interface Connected extends Connection {
  readonly plinth: Plinth;
}

export interface ConnectedToApp extends Connected {
  readonly app_id: string;
  readonly app: PlinthApp;
}

export function createCli(argv: readonly string[], version: string, settings: () => Settings): Cli {
  const output = createOutput(settings);
  const clientOf = (url: string, token?: string, workspaceId?: string) =>
    new Plinth({
      url,
      ...(token !== undefined && { token }),
      ...(workspaceId !== undefined && { workspaceId }),
      headers: { 'user-agent': `plinthctl/${version}` },
      onNotes: output.note,
      onRetry: ({ operation, waitMs, cause }) =>
        output.say(`${operation}: ${cause.code}, trying again in ${Math.ceil(waitMs / 1000)} s`),
    });
  let subject = {};
  const connect = async () => {
    const connection = await findConnection(settings().profile);
    const { url, token, workspaceId } = connection;
    return { ...connection, plinth: clientOf(url, token, workspaceId) };
  };
  return {
    argv,
    version,
    settings,
    output,
    prompts: createPrompts(settings),
    signal: createSignal(),
    about(names) {
      subject = names;
    },
    get subject() {
      return subject;
    },
    clientOf,
    connect,
    async connectToApp(named) {
      const wished = named ?? (await readProject())?.app_id;
      if (wished === undefined)
        throw new CommandError('Which app? Pass --app, or change to a folder with plinth.json.', 'no_app');
      const connected = await connect();
      const app_id = await findId(connected.plinth, 'app_id', wished, {});
      return { ...connected, app_id, app: connected.plinth.app(app_id) };
    },
    async connectToAgent(named) {
      const connected = await connect();
      return { ...connected, agent_id: await findId(connected.plinth, 'agent_id', named, {}) };
    },
  };
}

/** The first Ctrl+C ends what is running in order; the second one ends the process. */
function createSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(2);
      controller.abort(new CommandError('Cancelled.', 'cancelled'));
    });
  return controller.signal;
}
