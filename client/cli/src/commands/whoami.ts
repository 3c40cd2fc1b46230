// `plinthctl whoami`: the person, the credential and the workspaces.
import type { Define } from '../cli.ts';
import { colour, facts } from '../output.ts';

export const define: Define = (command, cli) => {
  command.action(async () => {
    const { plinth, profile, url, workspaceId } = await cli.connect();
    const me = await plinth.getMe({}, { signal: cli.signal });
    const { user, credential, workspaces } = me;
    const apps = credential.app_ids === null ? 'all apps' : `${credential.app_ids.length} of the apps`;
    await cli.output.show(me, () =>
      facts({
        person: `${user.full_name} <${user.email}>`,
        installation: `${url} (profile ${profile})`,
        credential: `${credential.kind.replaceAll('_', ' ')}, ${credential.permission.replaceAll('_', ' ')}, ${apps}`,
        expires: credential.expires_at ?? 'never',
        workspaces: workspaces
          .map(({ id, name, role }) => (id === workspaceId ? colour('bold', `${name} (${role})`) : `${name} (${role})`))
          .join(', '),
      }),
    );
  });
};
