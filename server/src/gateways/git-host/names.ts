// Decides which repository and branch names are sent to the git host. Only unambiguous names are accepted.

const fullNamePattern = /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/;
const commitPattern = /^[0-9a-f]{40}$/;

/** The form is `owner/name`. `.` and `..` are not allowed as parts, because they would lead to a different address. */
export const isFullName = (fullName: string): boolean =>
  fullNamePattern.test(fullName) && !fullName.split('/').some((part) => part === '.' || part === '..');

export const isCommitId = (text: string): boolean => commitPattern.test(text);

/**
 * Follows the rules of `git check-ref-format`, which also prevent a name from being an option, a pattern or an
 * expression.
 */
export function isRefName(name: string): boolean {
  if (name === '' || name === '@' || name.length > 255 || name.startsWith('-') || name.endsWith('.')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are matched on purpose
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{/.test(name) || !name.isWellFormed()) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Lists the refs that a name can refer to. The first one that exists is used. Empty if the name can't be a ref. */
export function candidatesFor(name: string): string[] {
  if (!isRefName(name)) return [];
  return name.startsWith('refs/') ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
}
