// Runs a guide as a reader would, against the processes that `npm run dev` starts, in a temporary folder. The
// server, the worker and the sandbox are real processes.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { Guide } from '../support/guide.ts';
import { cloneTemplate } from '../support/template.ts';
import { commandLine } from './command.ts';

export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** Starts `npm run dev` with its own database. The returned `start` starts it again. */
export async function startDevelopment() {
  const folder = await mkdtemp(join(tmpdir(), 'guide-'));
  const database = await cloneTemplate();
  const port = String(await freePort());
  const baseUrl = `http://127.0.0.1:${port}`;
  const settings = {
    DATABASE_URL: database.url,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    PORT: port,
    BASE_URL: baseUrl,
    CONSOLE: 'on',
  };
  const command = commandLine(settings, repository, folder);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  const start = async () => {
    const { child, log } = await command.start('dev', /valid until the next start/);
    const banner = log.join('').slice(log.join('').indexOf('Plinth is running'));
    return { child, banner, token: /export TOKEN=(\S+)/.exec(banner)?.[1] };
  };
  const first = await start();
  await symlink(join(repository, 'docs'), join(folder, 'docs')); // the guide's reader is in the clone's folder
  const programs = join(folder, 'bin');
  await mkdir(programs);
  const plinthctl = `#!/bin/sh\nexec "${process.execPath}" "${join(repository, 'client/cli/src/main.ts')}" "$@"\n`;
  await writeFile(join(programs, 'plinthctl'), plinthctl, { mode: 0o755 });
  /** Opens a shell for a guide. Only the variables that `npm run dev` prints are set in it, and the reader's folders. */
  const newGuide = () => {
    const guide = new Guide(folder);
    guide.export('PATH', `${programs}:$PATH`);
    guide.export('XDG_CONFIG_HOME', join(folder, 'config'));
    for (const [, name = '', value = ''] of first.banner.matchAll(/^ {2}export (\w+)=(.+)$/gm))
      guide.export(name, value);
    return guide;
  };
  return { ...first, start, guide: newGuide(), newGuide, baseUrl, folder };
}
