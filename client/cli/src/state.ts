// What plinthctl remembers in `.plinth`, beside plinth.json: the files of the last push, and imports that are not
// finished. Git ignores the folder.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeJson } from './files.ts';
import { readProject } from './project.ts';

const stateFolder = async (): Promise<string> => join((await readProject())?.folder ?? process.cwd(), '.plinth');

export const readState = async <Content>(name: string): Promise<Content | undefined> =>
  readJson<Content>(join(await stateFolder(), `${name}.json`));

export async function writeState(name: string, content: unknown): Promise<void> {
  const folder = await stateFolder();
  await writeJson(join(folder, `${name}.json`), content);
  await writeFile(join(folder, '.gitignore'), '*\n');
}

export const removeState = async (name: string): Promise<void> =>
  rm(join(await stateFolder(), `${name}.json`), { force: true });
