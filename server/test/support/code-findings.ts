// Scans small pieces of code and returns the code rules' findings.
import { expect, it } from 'vitest';
import { createAppReader } from '../../src/features/security/code/scan-file.ts';

export type Files = Readonly<Record<string, string>>;

/** Returns every finding's rule and line, as `rule path:line`. */
export function findingsOf(files: Files): string[] {
  const reader = createAppReader();
  for (const [path, text] of Object.entries(files)) reader.program.add(path, text);
  const found = Object.keys(files).flatMap((path) => {
    const { functions, staticCode } = reader.read(path);
    return [...functions, ...staticCode].map(({ rule_id, position }) => `${rule_id} ${position.path}:${position.line}`);
  });
  return [...new Set(found)].sort();
}

/** Faulty code and its harmless twin, which differ only in the relevant detail. */
export interface Twins {
  readonly name: string;
  readonly rule: string;
  readonly faulty: string | Files;
  readonly harmless: string | Files;
}

/** Code given as a string is placed in a file at `path`, after the text in `before`. */
export function testTwins(twins: readonly Twins[], { path, before = '' }: { path: string; before?: string }): void {
  const rulesOf = (code: string | Files) => {
    const found = findingsOf(typeof code === 'string' ? { [path]: before + code } : code);
    return [...new Set(found.map((finding) => finding.split(' ')[0]))];
  };
  it.each(twins)('are reported: $name', ({ rule, faulty }) => {
    expect(rulesOf(faulty)).toEqual([rule]);
  });
  it.each(twins)('are not reported if it is done right: $name', ({ harmless }) => {
    expect(rulesOf(harmless)).toEqual([]);
  });
}
