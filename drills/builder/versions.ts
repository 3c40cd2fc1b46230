// Owns what a turn of the drill writes: ten files, each of which names the turn, so that a mixture of two turns is seen.

export const fileNames: readonly string[] = Array.from({ length: 10 }, (_, n) => `part-${n}.txt`);

/** The turn that a message asks for: `Write version 7-3` → `7-3`. */
export const versionIn = (message: string): string => /version (\S+)/.exec(message)?.[1] ?? '';

export const messageFor = (version: string): string => `Write version ${version}`;

/** Long enough that a cut would be seen. */
export const contentOf = (version: string, name: string): string =>
  `${Array.from({ length: 200 }, (_, line) => `version ${version} of ${name}, line ${line}`).join('\n')}\n`;

/** The version that a file says it is, if it is complete. */
export function readVersion(name: string, content: string): string | undefined {
  const version = versionIn(content);
  return content === contentOf(version, name) ? version : undefined;
}
