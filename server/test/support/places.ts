// Owns a small catalogue of locations for tests: all countries and regions, large cities, and the places that tests name. All of
// them are real; the whole catalogue would take ten seconds to load.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll } from 'vitest';
import { placesFile } from '../../src/release.ts';

const smallestCity = 300_000;

/**
 * Returns the path of the file, in the form of the bundled one. Cities have their other names only if they are in `named`.
 * `countries`: only what lies in them; otherwise everything.
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

/** A folder that exists while the tests of the file run. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-places-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}
