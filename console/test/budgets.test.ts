// What the console may weigh, compressed with gzip: the budgets of its build (console/README.md#budgets).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { buildIfStale, dist } from '../build-if-stale.ts';

interface Chunk {
  readonly file: string;
  readonly src?: string;
  readonly name?: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

await buildIfStale();
const manifest: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8'));
const kilobytes = (file: string): number => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length / 1_000;
const total = (files: Iterable<string>): number => [...files].reduce((sum, file) => sum + kilobytes(file), 0);

/** The files that are loaded with a chunk. */
function listFiles(key: string, found = new Set<string>()): Set<string> {
  const chunk = manifest[key];
  if (chunk === undefined) throw new Error(`the manifest has no ${key}`);
  if (found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const imported of chunk.imports ?? []) listFiles(imported, found);
  return found;
}

const shell = listFiles('index.html');
const screens = Object.entries(manifest).filter(([key]) => /^src\/(features|shell)\/.+\.tsx$/.test(key));

describe('the console', () => {
  it('loads at most 180 kB of script before its first screen', () => {
    expect(total(shell)).toBeLessThan(180);
  });

  it('changes at most 70 kB of it with each release', () => {
    expect(total([...shell].filter((file) => !/vendor-/.test(file)))).toBeLessThan(70);
  });

  it('has at most 20 kB of style', () => {
    const styles = Object.values(manifest).flatMap(({ css = [] }) => css);
    expect(total(new Set(styles))).toBeLessThan(20);
  });

  it('loads its screens when they are opened', () => {
    expect(screens.length).toBeGreaterThan(6);
  });

  it.each(screens.map(([key]) => key))('loads at most 40 kB for %s', (key) => {
    expect(total([...listFiles(key)].filter((file) => !shell.has(file)))).toBeLessThan(40);
  });
});
