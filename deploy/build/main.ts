// `npm run package`: builds the artifacts of a release from the commit that is checked out.
import { mkdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { listChanges } from './commit.ts';
import { packDeb } from './deb.ts';
import { digestFile, digestTree } from './files.ts';
import { buildImage, saveImage } from './image.ts';
import { packTarball } from './tarball.ts';
import { buildTree, type Tree } from './tree.ts';

/** Each packs a tree, and returns the path of the artifact. */
const packers: Readonly<Record<string, (tree: Tree) => Promise<string>>> = {
  tarball: packTarball,
  deb: packDeb,
  image: async (tree) => saveImage(await buildImage(tree, 'core'), tree),
  'image-browser': async (tree) => saveImage(await buildImage(tree, 'browser'), tree),
};
const usage = `usage: npm run package -- [${Object.keys(packers).join('] [')}] [--output FOLDER]`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', default: '.cache/release' } },
});
if (positionals.some((name) => packers[name] === undefined)) {
  console.error(`${usage}\nWithout a name, only the tree is built.`);
  process.exit(2);
}
const changes = await listChanges();
if (changes.length > 0) {
  console.error(`These files differ from the commit. Commit or remove them first:\n${changes.join('\n')}`);
  process.exit(1);
}
await mkdir(values.output, { recursive: true });
const tree = await buildTree(values.output);
console.log(`${await digestTree(tree.folder)}  ${tree.name}/`);
for (const name of positionals) {
  const path = await (packers[name] as (tree: Tree) => Promise<string>)(tree);
  console.log(`${await digestFile(path)}  ${path.slice(values.output.length + 1)}`);
}
