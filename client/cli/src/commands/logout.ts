// `plinthctl logout`: revokes the token of a profile, and forgets it.
import { isPlinthError } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { readProfile, removeProfile } from '../profiles.ts';

export const define: Define = (command, cli) => {
  command.action(() => logOut(cli));
};

async function logOut(cli: Cli): Promise<void> {
  const { name, url, token } = await readProfile(cli.settings().profile);
  const revoked = token !== undefined && (await revoke(cli, url, token));
  await removeProfile(name);
  await cli.output.show({ profile: name, url, revoked }, () =>
    revoked
      ? `Logged out of ${url}. The token is revoked.`
      : `Forgot the token for ${url}. It could not be revoked from here: revoke it on ${url}/`,
  );
}

/** A token that may only read can't revoke itself. */
async function revoke(cli: Cli, url: string, token: string): Promise<boolean> {
  const plinth = cli.clientOf(url, token);
  try {
    const { credential } = await plinth.getMe();
    if (credential.kind !== 'personal_token') return false;
    await plinth.revokeToken({ token_id: credential.id });
    return true;
  } catch (error) {
    if (isPlinthError(error) && (error.status === 401 || error.status === 403)) return error.status === 401;
    if (isPlinthError(error, 'unreachable', 'timeout'))
      throw new CommandError(
        `${url} can't be reached, so the token could not be revoked. Try again later.`,
        error.code,
        75,
      );
    throw error;
  }
}
