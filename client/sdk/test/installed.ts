// The packed client in a folder of a program that has installed it, and the compilers that check such a program.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packClient } from '../pack.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export const compilers = {
  'TypeScript 6': join(root, 'node_modules/typescript/lib/tsc.js'),
  'TypeScript 7': join(root, 'node_modules/typescript-7/bin/tsc'),
} as const;

/** Installs the packed client, and writes these programs of client/sdk/test so that they import it by its name. */
export async function installClient(folder: string, programs: readonly string[]): Promise<void> {
  const installed = join(folder, 'node_modules/@plinth/client');
  await mkdir(installed, { recursive: true });
  await copyFile(join(root, 'client/sdk/package.json'), join(installed, 'package.json'));
  await packClient(installed);
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  for (const program of programs) {
    const source = await readFile(join(root, 'client/sdk/test', program), 'utf8');
    const renamed = source
      .replaceAll("'../src/index.ts'", "'@plinth/client'")
      .replaceAll(/'\.\.\/src\/(\w+)\.ts'/g, "'@plinth/client/$1'");
    await writeFile(join(folder, program), renamed);
  }
}

/** Compiles programs of the folder. Returns what the compiler says. */
export async function compile(
  folder: string,
  compiler: keyof typeof compilers,
  module: 'nodenext' | 'bundler',
  files: readonly string[],
): Promise<string> {
  const settings = join(folder, `${module}.json`);
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: module === 'bundler' ? 'preserve' : module,
    moduleResolution: module,
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
  };
  await writeFile(settings, JSON.stringify({ compilerOptions, files }));
  const { stdout } = await promisify(execFile)(process.execPath, [compilers[compiler], '-p', settings]).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}
