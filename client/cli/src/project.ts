// plinth.json: says which app a folder belongs to. It is found in the folder or in one above it.
import { dirname, join } from 'node:path';
import { CommandError } from './exit.ts';
import { readJson, writeJson } from './files.ts';

export interface Project {
  readonly app_id: string;
  readonly url: string;
}

export interface FoundProject extends Project {
  readonly folder: string;
}

export async function readProject(folder = process.cwd()): Promise<FoundProject | undefined> {
  const project = await readJson<Project>(join(folder, 'plinth.json'));
  if (project !== undefined) {
    if (typeof project.app_id !== 'string' || typeof project.url !== 'string')
      throw new CommandError(`${join(folder, 'plinth.json')} must name "app_id" and "url".`, 'file_invalid');
    return { ...project, folder };
  }
  const above = dirname(folder);
  return above === folder ? undefined : readProject(above);
}

/** The file is committed with the app, so others may read it. */
export const writeProject = (folder: string, project: Project): Promise<void> =>
  writeJson(join(folder, 'plinth.json'), project, 0o644);
