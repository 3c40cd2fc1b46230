// Owns the check that references to documents lead somewhere: the links between documents with their headings, and the
// documents that source files name in comments.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const documents = [...listFiles('.', /^[A-Z_]+\.md$/, false), ...listFiles('docs', /\.(md|yaml)$/)];
const sources = ['server/src', 'server/test', 'server/describe', 'sandbox', 'bench', 'drills'].flatMap((folder) =>
  listFiles(folder, /\.ts$/),
);

describe('every document', () => {
  it.each(documents)('%s links only to files and headings that exist', (path) => {
    const links = [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const local = links.filter((target) => !/^[a-z]+:/.test(target));
    const targets = local.map((target) => (target.startsWith('#') ? basename(path) + target : target));
    expect(targets.filter((target) => !leadsSomewhere(dirname(path), target))).toEqual([]);
  });
});

describe('every source file', () => {
  const naming = sources.filter((path) => namedDocuments(path).length > 0);

  it.each(naming)('%s names only documents and headings that exist', (path) => {
    expect(namedDocuments(path).filter((target) => !leadsSomewhere('.', target))).toEqual([]);
  });
});

const namedDocuments = (path: string): string[] =>
  [...read(path).matchAll(/\bdocs\/[\w./-]+\.(?:md|yaml)(?:#[\w-]+)?/g)].map(([target]) => target);

function leadsSomewhere(folder: string, target: string): boolean {
  const [file = '', heading] = target.split('#');
  const path = normalize(join(folder, file));
  if (!existsSync(join(root, path))) return false;
  return heading === undefined || anchorsOf(path).has(heading);
}

/** The anchors of the headings, as GitHub derives them. `## Rate limits` becomes `rate-limits`. */
function anchorsOf(path: string): Set<string> {
  const headings = [...withoutBlocks(read(path)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/\]\([^)]*\)/g, '')
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const withoutBlocks = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '');
const withoutCode = (text: string): string => withoutBlocks(text).replace(/`[^`\n]*`/g, '');

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function listFiles(folder: string, name: RegExp, recursive = true): string[] {
  return readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
    .filter((path) => !path.includes('node_modules') && name.test(path))
    .map((path) => normalize(join(folder, path)))
    .filter((path) => statSync(join(root, path)).isFile());
}
