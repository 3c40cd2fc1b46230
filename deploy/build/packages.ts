// Packs a client as npm does. npm gives all packed files the same time.
import { run } from './run.ts';

export const packPackage = (folder: string, output: string): Promise<string> =>
  run('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${output}`], folder);
