// Owns which names of repositories and branches are sent to the git host: those that are one and can be nothing else.

const fullNamePattern = /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/;
const commitPattern = /^[0-9a-f]{40}$/;

/** `owner/name`. The parts `.` and `..` would lead to other addresses. */
export const isFullName = (fullName: string): boolean =>
  fullNamePattern.test(fullName) && !fullName.split('/').some((part) => part === '.' || part === '..');

export const isCommitId = (text: string): boolean => commitPattern.test(text);

/** The rules of `git check-ref-format`, which also keep a name from being an option, a pattern or an expression. */
export function isRefName(name: string): boolean {
  if (name === '' || name === '@' || name.length > 255 || name.startsWith('-') || name.endsWith('.')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{/.test(name) || !name.isWellFormed()) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** The refs that a name can mean, the first that exists counts. Empty if it can't be a ref. */
export function candidatesFor(name: string): string[] {
  if (!isRefName(name)) return [];
  return name.startsWith('refs/') ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
}
