// `plinthctl workspace export`: downloads everything that is in the workspace.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Export } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { poll } from '../waiting.ts';

export const define: Define = (command, cli) => {
  command
    .command('export')
    .description('Write the whole workspace to a file, which another installation can import')
    .argument('[file]', 'the archive to write', 'workspace.tar.gz')
    .action((file: string) => exportWorkspace(cli, file));
};

async function exportWorkspace(cli: Cli, file: string): Promise<void> {
  if (existsSync(file)) throw new CommandError(`${file} exists already. Name another file.`, 'file_exists');
  const { plinth } = await cli.connect();
  const { export_id } = await plinth.startExport();
  let state: Export | undefined;
  const ending = poll(async () => {
    state = await plinth.getExport({ export_id }, { signal: cli.signal });
    return state.state === 'queued' || state.state === 'running';
  }, cli.signal);
  await cli.output.during('Exporting', ending);
  if (state?.state !== 'ready')
    throw new CommandError('The export failed. Start it again.', 'export_failed', exitCodes.failed);
  const download = plinth.getExport({ export_id, download: true }, { signal: cli.signal }).as('application/gzip');
  const archive = await cli.output.during('Downloading', download);
  await writeFile(file, archive, { flag: 'wx', mode: 0o600 });
  const { counts } = state;
  await cli.output.show({ export_id, file, bytes: archive.byteLength, counts }, () =>
    [
      `Wrote ${file}, ${archive.byteLength} bytes. It contains everything but secrets: keep it safe.`,
      Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`)
        .join(', '),
    ].join('\n'),
  );
}
