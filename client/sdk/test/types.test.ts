// Compiles the samples and the wrong programs as a consumer would, with two versions of TypeScript.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = await mkdtemp(join(root, '.cache/consumer-'));
afterAll(() => rm(folder, { recursive: true }));

const compilers = {
  'TypeScript 6': 'node_modules/typescript/lib/tsc.js',
  'TypeScript 7': 'node_modules/typescript-7/bin/tsc',
};

async function compile(compiler: string, module: string): Promise<string> {
  const file = join(folder, `${module}.json`);
  const settings = {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      module: module === 'bundler' ? 'preserve' : module,
      moduleResolution: module,
      types: [],
      strict: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    files: ['samples.ts', 'wrong-programs.ts'].map((name) => join(root, 'client/sdk/test', name)),
  };
  await writeFile(file, JSON.stringify(settings));
  const { stdout } = await run(process.execPath, [join(root, compiler), '-p', file]).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}

describe.each(Object.entries(compilers))('%s', (_, compiler) => {
  it.each(['nodenext', 'bundler'])('compiles the samples and refuses the wrong programs (%s)', async (module) => {
    expect(await compile(compiler, module)).toBe('');
  });
});
