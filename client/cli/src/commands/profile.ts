// `plinthctl profile`: which installations this machine knows.
import type { Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { table } from '../output.ts';
import { readConfig, removeProfile, writeConfig } from '../profiles.ts';

export const define: Define = (command, cli) => {
  command
    .command('list', { isDefault: true })
    .description('List the profiles')
    .action(async () => {
      const { current, profiles } = await readConfig();
      const items = Object.entries(profiles).map(([name, profile]) => ({
        name,
        current: name === current,
        ...profile,
      }));
      await cli.output.show({ items }, () =>
        table(
          items,
          [
            ['profile', ({ name, current }) => (current ? `${name} *` : name)],
            ['address', ({ url }) => url],
            ['workspace', ({ workspace_id }) => workspace_id],
          ],
          'There is no profile yet. Log in with: plinthctl login --url https://plinth.example.com',
        ),
      );
    });
  command
    .command('use')
    .description('Choose the profile that commands use')
    .argument('<name>')
    .option('--workspace <id>', 'the workspace in which commands take place')
    .action(async (name: string, { workspace }: { readonly workspace?: string }) => {
      const { profiles } = await readConfig();
      const profile = profiles[name];
      if (profile === undefined) throw new CommandError(`There is no profile ${name}.`, 'no_profile');
      const changed = { ...profile, ...(workspace !== undefined && { workspace_id: workspace }) };
      await writeConfig({ current: name, profiles: { ...profiles, [name]: changed } });
      await cli.output.show({ name, ...changed }, () => `Commands now use ${name} (${profile.url}).`);
    });
  command
    .command('remove')
    .description('Forget a profile without revoking its token')
    .argument('<name>')
    .action(async (name: string) => {
      const { profiles } = await readConfig();
      if (profiles[name] === undefined) throw new CommandError(`There is no profile ${name}.`, 'no_profile');
      await cli.prompts.confirm(`This forgets the profile ${name} and its token.`);
      await removeProfile(name);
      await cli.output.show({ removed: name }, () => `Forgot ${name}.`);
    });
};
