// The rules for paths that may be written to a repository. A path must refer to the same file on every file
// system, and never to git's own files.
import { PathRefused } from './types.ts';

const maxPathBytes = 4096;
const maxNameBytes = 255;

/** Code points that HFS+ ignores in names. Example: HFS+ treats `.g\u200cit` as `.git`. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Throws `PathRefused` with the reason. Examples:
 *
 *     src/index.ts        accepted
 *     .github/ci.yml      accepted
 *     sub/.GIT/config     must not contain a segment named `.git`
 *     ../secrets          must not contain `.` or `..` segments
 */
export function checkPath(path: string): void {
  const reason = findFault(path);
  if (reason !== undefined) throw new PathRefused(path, reason);
}

function findFault(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (Buffer.byteLength(path) > maxPathBytes) return `must be at most ${maxPathBytes} bytes long`;
  if (!path.isWellFormed()) return 'must be valid Unicode';
  if (path.startsWith('/')) return 'must be relative to the root of the repository';
  if (path.includes('\\')) return 'must not contain a backslash';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are matched on purpose
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'must not contain control characters';
  const parts = path.split('/');
  if (parts.includes('')) return 'must not contain empty segments';
  if (parts.some((part) => part === '.' || part === '..')) return 'must not contain `.` or `..` segments';
  if (parts.some((part) => Buffer.byteLength(part) > maxNameBytes))
    return `must not contain segments longer than ${maxNameBytes} bytes`;
  if (parts.some(isGitFolder)) return 'must not contain a segment named `.git`';
  return undefined;
}

/**
 * Whether a file system could treat the name as `.git`: in any case, or on NTFS with trailing dots, spaces or streams,
 * or as a short name.
 */
export function isGitFolder(part: string): boolean {
  const name = part.replace(ignoredByHfs, '').toLowerCase();
  const onNtfs = name.replace(/:.*$/s, '').replace(/[. ]+$/, '');
  return name === '.git' || onNtfs === '.git' || onNtfs === 'git~1';
}
