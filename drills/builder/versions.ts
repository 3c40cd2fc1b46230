// The files that a turn writes: ten files that each name the turn, so a mixture of two turns is detected.

export const fileNames: readonly string[] = Array.from({ length: 10 }, (_, n) => `part-${n}.txt`);

/** Returns the version that a message requests: `Write version 7-3` → `7-3`. */
export const versionIn = (message: string): string => /version (\S+)/.exec(message)?.[1] ?? '';

export const messageFor = (version: string): string => `Write version ${version}`;

/** Long enough that truncation is detected. */
export const contentOf = (version: string, name: string): string =>
  `${Array.from({ length: 200 }, (_, line) => `version ${version} of ${name}, line ${line}`).join('\n')}\n`;

/** Returns the version that a file states. Undefined if the file is incomplete. */
export function readVersion(name: string, content: string): string | undefined {
  const version = versionIn(content);
  return content === contentOf(version, name) ? version : undefined;
}
