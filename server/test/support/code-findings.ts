// Owns reading small pieces of code as a scan does: what the rules on code report of them.
import { expect, it } from 'vitest';
import { createAppReader } from '../../src/features/security/code/scan-file.ts';

export type Files = Readonly<Record<string, string>>;

/** The rule and line of every finding, as `rule path:line`. */
export function findingsOf(files: Files): string[] {
  const reader = createAppReader();
  for (const [path, text] of Object.entries(files)) reader.program.add(path, text);
  const found = Object.keys(files).flatMap((path) => {
    const { functions, staticCode } = reader.read(path);
    return [...functions, ...staticCode].map(({ rule_id, position }) => `${rule_id} ${position.path}:${position.line}`);
  });
  return [...new Set(found)].sort();
}

/** A fault and its harmless twin, which differs in what matters only. */
export interface Twins {
  readonly name: string;
  readonly rule: string;
  readonly faulty: string | Files;
  readonly harmless: string | Files;
}

/** `path`: of code that is given as one text. `before`: the beginning of each such text. */
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
