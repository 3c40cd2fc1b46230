// Compiles the samples and the wrong programs as a consumer of the packed client would, with two versions of TypeScript.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compile, compilers, installClient } from './installed.ts';

const folder = await mkdtemp(join(tmpdir(), 'consumer-'));
afterAll(() => rm(folder, { recursive: true }));
const programs = ['samples.ts', 'wrong-programs.ts'];
await installClient(folder, programs);

describe.each(Object.keys(compilers) as (keyof typeof compilers)[])('%s', (compiler) => {
  it.each(['nodenext', 'bundler'] as const)(
    'compiles the samples and refuses the wrong programs (%s)',
    async (module) => {
      expect(await compile(folder, compiler, module, programs)).toBe('');
    },
  );
});
