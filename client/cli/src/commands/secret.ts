// `plinthctl secret`: the secrets of an app. A value is typed at a hidden prompt, or comes from stdin.

import type { Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { type AppOption, appOption } from '../options.ts';

export const define: Define = (command, cli) => {
  command
    .command('set')
    .description('Store a secret; its value is asked for, or read from stdin')
    .argument('<name>', 'such as API_KEY')
    .option(...appOption)
    .action(async (name: string, { app: named }: AppOption) => {
      const { app } = await cli.connectToApp(named);
      const value = await cli.prompts.secret(`Value of ${name}`);
      if (value === '') throw new CommandError('The value is empty. Nothing was stored.', 'no_value');
      const secret = await app.putAppSecret({ secret_name: name, value });
      await cli.output.show(secret, () => `Stored ${name}.`);
    });
};
