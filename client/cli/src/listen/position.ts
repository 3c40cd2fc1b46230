// How far `plinthctl listen` has come, in a file that only its owner may read, because it contains the webhook's secret.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CommandError } from '../exit.ts';
import { configFolder, readJson, writeJson } from '../files.ts';

export interface Position {
  /** The installation that the numbers belong to. */
  readonly url: string;
  readonly webhook_id: string;
  /** Known if the webhook was created here. */
  readonly secret?: string;
  /** The number of the last delivery that the receiver answered with a 2xx. */
  readonly sequence?: number;
}

export interface PositionFile {
  read(): Promise<Position | undefined>;
  write(position: Position): Promise<void>;
  /** Lets another process listen. A process that was killed needs no release. */
  release(): Promise<void>;
}

/** `name` is the id of the app, the agent or the webhook. Refuses if another process listens to the same one. */
export async function openPosition(url: string, name: string): Promise<PositionFile> {
  const path = join(configFolder(), 'listen', encodeURIComponent(name));
  await lock(`${path}.pid`);
  return {
    async read() {
      const position = await readJson<Position>(`${path}.json`);
      return position?.url === url ? position : undefined;
    },
    write: (position) => writeJson(`${path}.json`, position),
    release: () => rm(`${path}.pid`, { force: true }),
  };
}

async function lock(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  for (;;) {
    try {
      return await writeFile(file, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(await readFile(file, 'utf8').catch(() => ''));
    if (isRunning(pid))
      throw new CommandError(`Process ${pid} already listens to this. Stop it first.`, 'already_listening');
    await rm(file, { force: true });
  }
}

/** Containers give the same id to their first process each time, so this process's own id is one that was left behind. */
function isRunning(pid: number): boolean {
  if (!(pid > 0) || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
