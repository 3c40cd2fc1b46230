// A program: `node are-the-types-wrong.ts PACKAGE.tgz` prints the entry points of a package, and what is wrong with their
// types. It runs in a process of its own, because under vitest the checker is resolved to sources that Node can't load.
import { readFile } from 'node:fs/promises';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';

const packed = createPackageFromTarballData(new Uint8Array(await readFile(process.argv[2] ?? '')));
const analysis = await checkPackage(packed);
if (!analysis.types) throw new Error('the package has no types');
// The package is for `import` only, and the oldest way of resolving modules does not read `exports`.
const problems = analysis.problems.filter(
  (problem) =>
    problem.kind !== 'CJSResolvesToESM' && !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
);
console.log(JSON.stringify({ entrypoints: Object.keys(analysis.entrypoints).sort(), problems }));
