// Packs a client as npm does. npm gives all packed files the same time.
import { join } from 'node:path';
import { root } from './root.ts';
import { run } from './run.ts';

export const packPackage = (workspace: string, output: string): Promise<string> =>
  run('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${output}`], join(root, workspace));
