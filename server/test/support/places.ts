// A small location catalogue for tests: all countries and regions, large cities, and the places that tests name.
// All of them are real. The full catalogue would take ten seconds to load.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll } from 'vitest';
import { placesFile } from '../../src/release.ts';

const smallestCity = 300_000;

/**
 * Returns the path of a file in the bundled file's format. Only cities in `named` include their alternative names.
 * `countries` limits the catalogue to these countries.
 */
export function writeSmallCatalogue(named: readonly string[], countries?: readonly string[]): string {
  let country = '';
  const kept = readLines().flatMap((line) => {
    const [kind, id, name = '', population, , code = ''] = line.split('\t');
    if (kind === 'country') country = code;
    if (countries !== undefined && !countries.includes(country)) return [];
    if (kind === 'country' || kind === 'region' || named.includes(name)) return [line];
    return Number(population) < smallestCity ? [] : [[kind, id, name, population, '', ''].join('\t')];
  });
  const file = join(makeFolder(), 'places.tsv.gz');
  writeFileSync(file, gzipSync(kept.join('\n')));
  return file;
}

const readLines = (): string[] => gunzipSync(readFileSync(placesFile)).toString().split('\n');

/** Creates a folder that is removed after the file's tests. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-places-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}
