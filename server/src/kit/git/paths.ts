// Owns which paths may be written to a repository: those that are the same file on every file system, and never git's own.
import { PathRefused } from './types.ts';

const maxPathBytes = 4096;
const maxNameBytes = 255;

/** Code points that HFS+ ignores in a name: `.g\u200cit` is `.git` there. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Throws `PathRefused` with the reason.
 *
 *     src/index.ts        accepted
 *     .github/ci.yml      accepted
 *     sub/.GIT/config     must not contain a part named .git
 *     ../secrets          must not contain `.` or `..` as a part
 */
export function checkPath(path: string): void {
  const reason = findFault(path);
  if (reason !== undefined) throw new PathRefused(path, reason);
}

function findFault(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (Buffer.byteLength(path) > maxPathBytes) return `must have at most ${maxPathBytes} bytes`;
  if (!path.isWellFormed()) return 'must be valid Unicode';
  if (path.startsWith('/')) return 'must be relative to the root of the repository';
  if (path.includes('\\')) return 'must not contain a backslash';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'must not contain control characters';
  const parts = path.split('/');
  if (parts.includes('')) return 'must not contain empty parts';
  if (parts.some((part) => part === '.' || part === '..')) return 'must not contain `.` or `..` as a part';
  if (parts.some((part) => Buffer.byteLength(part) > maxNameBytes))
    return `must not contain parts of more than ${maxNameBytes} bytes`;
  if (parts.some(isGitFolder)) return 'must not contain a part named .git';
  return undefined;
}

/** Also as a file system could read it: without regard to case (all), trailing dots, spaces and streams, and short names (NTFS). */
function isGitFolder(part: string): boolean {
  const name = part.replace(ignoredByHfs, '').toLowerCase();
  const onNtfs = name.replace(/:.*$/s, '').replace(/[. ]+$/, '');
  return name === '.git' || onNtfs === '.git' || onNtfs === 'git~1';
}
