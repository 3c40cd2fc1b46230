// Checks references: every relative link in a document points to a file in this repository, and its anchor points to a
// heading. The same applies to every document that a source file mentions. No file mentions a path outside the
// repository.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = listFiles('*.md', 'docs/*.yaml');
const sources = listFiles('*.ts', '*.yaml', '*.yml', '*.cjs', '*.json').filter((path) => path !== 'package-lock.json');

describe('every document', () => {
  it.each(documents)('%s links only to files and headings that exist', (path) => {
    expect(listBrokenLinks(path)).toEqual([]);
  });

  it.each(documents)('%s mentions no path outside of the repository', (path) => {
    expect(listOutsidePaths(withoutCode(read(path)))).toEqual([]);
  });
});

describe('every source file', () => {
  it('names only documents and headings that exist, as `docs/api/conventions.md#idempotency`', () => {
    expect(sources.flatMap((path) => listBrokenMentions(path).map((mention) => `${path}: ${mention}`))).toEqual([]);
  });

  it('mentions no path outside of the repository', () => {
    const own = 'server/test/links.test.ts'; // contains examples of such paths
    const others = sources.filter((path) => path !== own);
    expect(others.flatMap((path) => listOutsidePaths(read(path)).map((outside) => `${path}: ${outside}`))).toEqual([]);
  });
});

describe('the checks themselves', () => {
  it('make anchors from headings as GitHub does', () => {
    const text =
      '# Keys & locks\n## `find…` may fail: what then?\n## Same\n## Same\n```\n# no heading\n```\n## [A](b.md) c';
    expect([...anchorsOf(text)]).toEqual(['keys--locks', 'find-may-fail-what-then', 'same', 'same-1', 'a-c']);
  });

  it('find paths outside of the repository', () => {
    expect(listOutsidePaths('see /home/ann/notes.md, not server/work/x.ts')).toEqual(['/home/ann/notes.md']);
  });
});

function listFiles(...patterns: string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
  if (files.length === 0) throw new Error(`no files match ${patterns.join(' ')}`);
  return files;
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const listOutsidePaths = (text: string): string[] => text.match(/(?<![\w/.])\/(work|home|root|Users)\/[\w./-]*/g) ?? [];

function listBrokenMentions(path: string): string[] {
  const mentions = [...read(path).matchAll(/\b(docs\/[\w./-]+\.(?:md|yaml))(?:#([\w-]+))?/g)];
  return mentions.filter(([, file = '', anchor = '']) => !isReachable(file, anchor)).map(([mention]) => mention);
}

function listBrokenLinks(path: string): string[] {
  const text = withoutCode(read(path));
  const targets = [
    ...[...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(([, target = '']) => target),
    ...[...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)].map(([, target = '']) => target),
    ...[...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target = '']) => target),
  ];
  return targets.filter((target) => {
    if (/^[a-z][a-z+.-]*:/.test(target)) return false;
    const [file = '', anchor = ''] = target.split('#');
    return !isReachable(file === '' ? path : normalize(join(dirname(path), decodeURI(file))), anchor);
  });
}

function isReachable(path: string, anchor: string): boolean {
  if (path.startsWith('..') || !existsSync(join(root, path))) return false;
  if (anchor === '') return true;
  if (statSync(join(root, path)).isDirectory()) return false;
  return anchorsOf(read(path)).has(anchor);
}

/**
 * Returns the anchors that GitHub generates for a document's headings: lower case, spaces as hyphens, without
 * punctuation.
 */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const base = plain.replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '').replace(/\s/g, '-');
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

const withoutBlocks = (text: string): string => text.replace(/^( *)(```|~~~)[\s\S]*?^\1\2/gm, '');
const withoutCode = (text: string): string => withoutBlocks(text).replace(/`[^`\n]*`/g, '');
