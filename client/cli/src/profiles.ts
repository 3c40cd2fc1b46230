// Profiles: the address of an installation, the workspace, and the token. Tokens are in a file of their own, which only
// its owner may read.
import { join } from 'node:path';
import { CommandError, exitCodes } from './exit.ts';
import { configFolder, readJson, writeJson } from './files.ts';
import { readProject } from './project.ts';

export interface Profile {
  readonly url: string;
  /** The workspace in which commands take place, for credentials that are valid in several. */
  readonly workspace_id?: string;
}

export interface Config {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

type Credentials = Readonly<Record<string, { readonly token: string }>>;

const configFile = () => join(configFolder(), 'config.json');
export const credentialsFile = () => join(configFolder(), 'credentials.json');

export const readConfig = async (): Promise<Config> => (await readJson<Config>(configFile())) ?? { profiles: {} };
export const writeConfig = (config: Config): Promise<void> => writeJson(configFile(), config);
const readCredentials = async (): Promise<Credentials> => (await readJson<Credentials>(credentialsFile())) ?? {};

export async function saveProfile(name: string, profile: Profile, token: string): Promise<void> {
  const config = await readConfig();
  await writeJson(credentialsFile(), { ...(await readCredentials()), [name]: { token } });
  await writeConfig({ current: name, profiles: { ...config.profiles, [name]: profile } });
}

export async function removeProfile(name: string): Promise<void> {
  const { current, profiles } = await readConfig();
  const { [name]: _profile, ...others } = profiles;
  const { [name]: _token, ...tokens } = await readCredentials();
  await writeJson(credentialsFile(), tokens);
  await writeConfig({ ...(current !== name && current !== undefined && { current }), profiles: others });
}

export interface NamedProfile extends Profile {
  readonly name: string;
  readonly token: string | undefined;
}

/** The profile with this name, or the current one. */
export async function readProfile(named: string | undefined): Promise<NamedProfile> {
  const { current = 'default', profiles } = await readConfig();
  const name = named ?? (process.env.PLINTH_PROFILE || current);
  const profile = profiles[name];
  if (profile === undefined) throw new CommandError(`There is no profile ${name}.`, 'no_profile');
  return { ...profile, name, token: (await readCredentials())[name]?.token };
}

export interface Connection {
  readonly profile: string;
  readonly url: string;
  readonly token: string | undefined;
  readonly workspaceId: string | undefined;
}

/**
 * Chooses the installation and the credential. A token is only ever sent to the address that it was made for: neither
 * PLINTH_URL nor the plinth.json of a folder can send it elsewhere.
 */
export async function findConnection(chosen: string | undefined): Promise<Connection> {
  const [config, project] = [await readConfig(), await readProject()];
  const wished = process.env.PLINTH_URL || project?.url;
  const named = chosen ?? (process.env.PLINTH_PROFILE || undefined);
  if (named !== undefined && config.profiles[named] === undefined)
    throw new CommandError(
      `There is no profile ${named}. Make it with: plinthctl login --profile ${named}`,
      'no_profile',
    );
  const byAddress = (url: string) =>
    Object.keys(config.profiles).find((name) => isSame(config.profiles[name]?.url, url));
  const current = config.current ?? 'default';
  const matches = wished === undefined || isSame(config.profiles[current]?.url, wished);
  const profile = named ?? (matches ? current : (byAddress(wished) ?? current));
  const { url, workspace_id } = config.profiles[profile] ?? {};
  const ownToken = process.env.PLINTH_TOKEN || undefined;
  const address = ownToken === undefined ? (wished ?? url) : process.env.PLINTH_URL || url;
  if (address === undefined)
    throw new CommandError(
      'You are not logged in. Log in with: plinthctl login --url https://plinth.example.com',
      'not_logged_in',
      exitCodes.signIn,
    );
  if (wished !== undefined && !isSame(address, wished))
    throw new CommandError(
      `plinth.json belongs to ${wished}, and you are logged in to ${address}.`,
      'other_installation',
    );
  if (ownToken === undefined && !isSame(url, address))
    throw new CommandError(
      `You are not logged in to ${address}. Log in with: plinthctl login --url ${address}`,
      'not_logged_in',
      exitCodes.signIn,
    );
  return {
    profile,
    url: address,
    token: ownToken ?? (await readCredentials())[profile]?.token,
    workspaceId: process.env.PLINTH_WORKSPACE || (ownToken === undefined ? workspace_id : undefined),
  };
}

const isSame = (a: string | undefined, b: string): boolean => a?.replace(/\/+$/, '') === b.replace(/\/+$/, '');
