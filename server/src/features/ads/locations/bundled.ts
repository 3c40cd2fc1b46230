// Reads the locations bundled with a release, from the gzipped file described in server/locations/README.md.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { foldVersion } from './fold.ts';

const targetTypes = { country: 'Country', region: 'Region', city: 'City', neighborhood: 'Neighborhood' } as const;
type Kind = keyof typeof targetTypes;

/** A place with its names in their usual spelling. */
export interface Place {
  readonly id: number;
  readonly parent_id: number | null;
  readonly country_code: string;
  readonly target_type: string;
  readonly name: string;
  readonly canonical_name: string;
  readonly reach: number;
  readonly codes: string;
  readonly otherNames: readonly string[];
}

interface Area {
  readonly id: number;
  readonly name: string;
  readonly code: string;
}

/** Changes whenever the file or `foldVersion` changes. */
export const computeChecksum = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .update(String(foldVersion))
    .digest('hex');

/**
 * Reads the places one by one. A line belongs to the country and region above it:
 *
 *   country  100000082  Germany  76917620  Allemagne|Deutschland|…  DE
 *   region   202850002  Bavaria  10125683                           02
 *   city     2867714    Munich   1260391   Monaco di Baviera|München|…
 */
export async function* readPlaces(file: string): AsyncGenerator<Place> {
  const lines = createInterface({ input: createReadStream(file).pipe(createGunzip()) });
  let country: Area = { id: 0, name: '', code: '' };
  let region: Area | undefined;
  for await (const line of lines) {
    const [kind = '', id, name = '', population, otherNames = '', code = ''] = line.split('\t');
    const area = { id: Number(id), name, code };
    if (kind === 'country') {
      country = area;
      region = undefined;
    }
    const parents = kind === 'country' ? [] : kind === 'region' || region === undefined ? [country] : [region, country];
    if (kind === 'region') region = area;
    yield {
      id: area.id,
      parent_id: parents[0]?.id ?? null,
      country_code: country.code,
      target_type: targetTypes[kind as Kind],
      name,
      canonical_name: [name, ...parents.map((parent) => parent.name)].join(','),
      reach: Number(population),
      codes: listCodes(country, region),
      otherNames: otherNames === '' ? [] : otherNames.split('|'),
    };
  }
}

/**
 * A place's codes, such as `tx us`. The numeric region codes used in most countries are omitted, because no one
 * searches for them.
 */
const listCodes = (country: Area, region: Area | undefined): string =>
  [...(/^[A-Z]+$/.test(region?.code ?? '') ? [region?.code] : []), country.code].join(' ').toLowerCase();
