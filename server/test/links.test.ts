// Owns the check of the documents: every relative link leads to a file of this repository, every anchor to a heading of
// it, and no document mentions a path outside of the repository.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = listFiles('*.md');
// The comments of the code name documents too, as `docs/api/conventions.md#idempotency`.
const sources = listFiles('*.ts', '*.yaml', '*.yml', '*.cjs', '*.json').filter((path) => path !== 'package-lock.json');

describe('every document', () => {
  it.each(documents)('%s has links that lead somewhere', (path) => {
    expect(brokenLinks(path)).toEqual([]);
  });

  it.each(documents)('%s mentions no path outside of the repository', (path) => {
    const text = withoutCode(readFileSync(join(root, path), 'utf8'));
    expect(text.match(/(?<![\w/.])\/(work|home|root|Users)\/[\w./-]*/g) ?? []).toEqual([]);
  });
});

it('finds every document that the code mentions', () => {
  const broken = sources.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const mentions = [...text.matchAll(/(?<![\w./-])(docs\/[\w./-]+\.(?:md|yaml))(#[\w-]+)?/g)];
    return mentions
      .filter(([, file = '', anchor = '']) => !isReachable(file, anchor.slice(1)))
      .map(([mention]) => `${path}: ${mention}`);
  });
  expect(broken).toEqual([]);
});

describe('the anchors', () => {
  it('are made from headings as GitHub does', () => {
    const text =
      '# Keys & locks\n## `find…` may fail: what then?\n## Same\n## Same\n```\n# no heading\n```\n## [A](b.md) c';
    expect([...anchorsOf(text)]).toEqual(['keys--locks', 'find-may-fail-what-then', 'same', 'same-1', 'a-c']);
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

function brokenLinks(path: string): string[] {
  const text = withoutCode(readFileSync(join(root, path), 'utf8'));
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
  return anchorsOf(readFileSync(join(root, path), 'utf8')).has(anchor);
}

/** The anchors that GitHub gives the headings of a document: lower case, spaces as hyphens, punctuation removed. */
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
