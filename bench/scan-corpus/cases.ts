// Reads the scan corpus: small apps with planted faults, and harmless apps that look similar.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { OsvRecord } from '../../sandbox/src/advisories/server.ts';

export const halves = ['open', 'held-out'] as const;
export type Half = (typeof halves)[number];

export const corpusGroups = ['rls', 'secrets', 'functions', 'static', 'dependencies', 'headers'] as const;
export type CorpusGroup = (typeof corpusGroups)[number];

/** A finding that must be reported. Its fields depend on the group. */
export interface Expected {
  readonly group: CorpusGroup;
  readonly file?: string;
  readonly line?: number;
  readonly kind?: string;
  readonly entity?: string;
  readonly operation?: string;
  readonly principal?: 'anonymous' | 'any_user';
  readonly package?: string;
  readonly advisory?: string;
  readonly flag?: string;
}

export interface CorpusCase {
  readonly name: string;
  readonly group: CorpusGroup;
  readonly files?: Readonly<Record<string, string>>;
  readonly schemas?: readonly Readonly<Record<string, unknown>>[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly advisories?: readonly OsvRecord[];
  /** Empty for a harmless lookalike, for which nothing may be reported. */
  readonly expect: readonly Expected[];
}

export function readCases(half: Half): CorpusCase[] {
  const folder = fileURLToPath(new URL(`./${half}/`, import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.flatMap((name) => JSON.parse(readFileSync(folder + name, 'utf8')) as CorpusCase[]); // written by hand
}
