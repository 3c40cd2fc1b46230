// `plinthctl open`: the pages of an installation, in a browser.
import { openPage } from '../browser.ts';
import type { Define } from '../cli.ts';

const pages = { start: '/', reference: '/docs', device: '/device' } as const;

export const define: Define = (command, cli) => {
  for (const [name, summary] of [
    ['start', 'Your apps, tokens and sessions'],
    ['reference', 'The reference of the API'],
    ['device', 'Where the code of a login is typed'],
  ] as const)
    command
      .command(name, { isDefault: name === 'start' })
      .description(summary)
      .action(async () => {
        const { url } = await cli.connect();
        await openPage(cli.output, `${url}${pages[name]}`);
      });
};
