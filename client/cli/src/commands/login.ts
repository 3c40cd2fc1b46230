// `plinthctl login`: a person types a code in their browser, and this program gets a token that can be revoked.

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { isPlinthError, type Plinth } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { collect } from '../options.ts';
import { credentialsFile, readConfig, saveProfile } from '../profiles.ts';
import { readProject } from '../project.ts';
import { reachServer } from '../reach.ts';

interface LoginOptions {
  readonly url?: string;
  readonly write?: boolean;
  readonly app?: readonly string[];
  readonly tokenStdin?: boolean;
}

export const define: Define = (command, cli) => {
  command
    .option('--url <address>', 'the address of the installation')
    .option('--write', 'ask for a token that may change things; by default it may only read')
    .option('--app <id>', 'ask for a token that reaches only this app; can be repeated', collect)
    .option('--token-stdin', 'read a token from stdin instead of asking for one')
    .action((options: LoginOptions) => logIn(cli, options));
};

async function logIn(cli: Cli, options: LoginOptions): Promise<void> {
  const url = await chooseAddress(cli, options);
  await reachServer(cli.clientOf(url), url, cli.signal);
  const token = options.tokenStdin ? await readToken(cli) : await requestToken(cli, cli.clientOf(url), options);
  const plinth = cli.clientOf(url, token);
  const { user, credential, workspaces } = await plinth.getMe({}, { signal: cli.signal });
  const profile = await chooseProfile(cli, url);
  const isFirst = !existsSync(credentialsFile());
  const workspace = workspaces.find(({ id }) => id === credential.workspace_id) ?? workspaces[0];
  await saveProfile(profile, { url, ...(workspace && { workspace_id: workspace.id }) }, token);
  if (isFirst) cli.output.say(`The token is in ${credentialsFile()}, which only you can read.`);
  if (process.env.PLINTH_TOKEN)
    cli.output.say(
      'PLINTH_TOKEN is set, and comes before the token of this profile. Remove it with: unset PLINTH_TOKEN',
    );
  const { permission, expires_at } = credential;
  await cli.output.show({ profile, url, email: user.email, permission, workspace_id: workspace?.id, expires_at }, () =>
    [
      `Logged in to ${url} as ${user.email}, in ${workspace?.name ?? 'no workspace'}.`,
      permission === 'read_only'
        ? 'The token may only read. For one that may change things: plinthctl login --write'
        : 'The token may read and change.',
    ].join('\n'),
  );
}

async function chooseAddress(cli: Cli, { url }: LoginOptions): Promise<string> {
  const { current = 'default', profiles } = await readConfig();
  const named = profiles[cli.settings().profile ?? process.env.PLINTH_PROFILE ?? current]?.url;
  const address = url ?? (process.env.PLINTH_URL || (named ?? (await readProject())?.url));
  if (address === undefined)
    throw new CommandError(
      'Where to? Pass the address: plinthctl login --url https://plinth.example.com',
      'no_address',
    );
  return address.replace(/\/+$/, '');
}

/** Without a name, an installation whose address is new does not replace another one. */
async function chooseProfile(cli: Cli, url: string): Promise<string> {
  const named = cli.settings().profile ?? process.env.PLINTH_PROFILE;
  if (named) return named;
  const { profiles } = await readConfig();
  const known = Object.keys(profiles).find((name) => profiles[name]?.url === url);
  return known ?? (profiles.default === undefined ? 'default' : new URL(url).host);
}

async function readToken(cli: Cli): Promise<string> {
  const token = (await cli.prompts.secret('Token')).trim();
  if (!/^pl[a-z]_\w+$/.test(token))
    throw new CommandError('stdin must contain a token, such as plp_… Nothing else may be in it.', 'no_token');
  return token;
}

async function requestToken(cli: Cli, plinth: Plinth, { write, app }: LoginOptions): Promise<string> {
  const { device_code, user_code, verification_url, interval_seconds } = await plinth.startDeviceLogin({
    client_name: `plinthctl on ${hostname()}`.slice(0, 100),
    permission: write ? 'full_access' : 'read_only',
    ...(app && { app_ids: [...app] }),
  });
  cli.output.say(`Open ${verification_url} in a browser, and type the code ${user_code}`);
  cli.output.say('Waiting …');
  for (;;) {
    await wait(interval_seconds * 1000, undefined, { signal: cli.signal });
    const token = await fetchToken(plinth, device_code, cli.signal);
    if (token !== undefined) return token;
  }
}

/** Returns undefined while nobody has answered. */
async function fetchToken(plinth: Plinth, device_code: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { token } = await plinth.pollDeviceLogin({ device_code }, { signal, maxRetries: 0 });
    return token ?? undefined;
  } catch (error) {
    if (isPlinthError(error, 'device_login_pending', 'unreachable', 'timeout')) return undefined;
    if (isPlinthError(error, 'device_login_denied'))
      throw new CommandError('The request was denied. Nothing was changed.', error.code, exitCodes.refused);
    if (isPlinthError(error, 'device_login_expired'))
      throw new CommandError(
        'Nobody typed the code in time. Start again with: plinthctl login',
        error.code,
        exitCodes.refused,
      );
    throw error;
  }
}
