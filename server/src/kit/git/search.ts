// Searches a tree's files with git grep, with limits on time and hits. Invalid patterns are returned as results,
// not thrown.
import { GitError, runGit } from './run.ts';
import { checkId, isReadable } from './trees.ts';
import type { SearchHit, SearchOptions, SearchResult } from './types.ts';

const maxPatternCharacters = 1_000;
const maxTextCharacters = 500;
const maxOutputBytes = 8 * 1024 * 1024;

export async function search(
  folder: string,
  tree: string,
  pattern: string,
  { syntax = 'fixed', ignoreCase = false, path = '', maxHits = 200, timeoutMs = 10_000 }: SearchOptions = {},
): Promise<SearchResult> {
  const fault = findFault(pattern);
  if (fault !== undefined) return { outcome: 'invalid_pattern', reason: fault };
  if (!isReadable(path)) return { outcome: 'searched', hits: [], isComplete: true };
  const args = [
    'grep',
    '--line-number',
    '--null',
    '-I', // skips binary files
    '--no-textconv',
    '--no-color',
    '--threads=1',
    syntax === 'fixed' ? '--fixed-strings' : '--extended-regexp',
    ...(ignoreCase ? ['--ignore-case'] : []),
    '-e',
    pattern,
    checkId(tree),
    ...(path === '' ? [] : ['--', path]),
  ];
  const result = await runGit(folder, args, {
    timeoutMs,
    maxOutputBytes,
    maxRecords: { end: 10, count: maxHits + 1 },
  });
  if (result.end === 'exited' && (result.status ?? 2) > 1) {
    const reason = /^fatal: -e (?:option|option, '.*'): (.*)$/ms.exec(result.stderr)?.[1];
    if (reason !== undefined || /regex|regular expression|Unmatched|Invalid/i.test(result.stderr))
      return { outcome: 'invalid_pattern', reason: (reason ?? 'is not a valid regular expression').trim() };
    // If a file exceeds git's memory limit, the search is incomplete rather than failed.
    if (!/out of memory|memory/i.test(result.stderr)) throw new GitError('grep', result);
  }
  const hits = parseHits(result.stdout, tree.length + 1);
  const isComplete = result.end === 'exited' && (result.status ?? 2) <= 1 && hits.length <= maxHits;
  return { outcome: 'searched', hits: hits.slice(0, maxHits), isComplete };
}

function findFault(pattern: string): string | undefined {
  if (pattern === '') return 'is empty';
  if (pattern.length > maxPatternCharacters) return `is longer than ${maxPatternCharacters} characters`;
  if (/[\0\n]/.test(pattern)) return 'contains a line break';
  return undefined;
}

/** Parses `<tree>:src/index.ts\0` `12\0` `the line\n`. */
function parseHits(output: Buffer, prefixLength: number): SearchHit[] {
  const text = output.toString('utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [path = '', number = '', ...rest] = line.split('\0');
      return {
        path: path.slice(prefixLength),
        line: Number(number),
        text: rest.join('\0').slice(0, maxTextCharacters),
      };
    });
}
