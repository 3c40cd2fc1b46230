// Tests the location search (docs/api/ads.md#locations).
import { describe, expect, it } from 'vitest';
import { writeSmallCatalogue } from '../../../../test/support/places.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { loadBundledLocations } from './catalogue.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);
const as = await world.token(owner, workspace);
const search = (parameters: Record<string, string> = {}) =>
  world.call('GET', `/api/apps/${app.id}/ads-platform/geo-targets/search?${new URLSearchParams(parameters)}`, { as });

/** Returns the results' canonical names. */
async function find(query: string, more: Record<string, string> = {}): Promise<string[]> {
  const { status, body, text } = await search({ query, ...more });
  expect(status, text).toBe(200);
  return body.map(({ canonical_name }: { canonical_name: string }) => canonical_name);
}

const named = [
  'Paris',
  'Munich',
  'Tokyo',
  'Münchenstein',
  'Austin',
  'Nice',
  'Frankfurt am Main',
  'Frei Paulo',
  'Mumbai',
];
const beforeLoad = await search({ query: 'paris' });
const file = writeSmallCatalogue(named);
await loadBundledLocations(world.db, file, world.clock.now());

describe('searchGeoTargets', () => {
  it('says that the list is incomplete while the catalogue is not loaded', () => {
    expect(beforeLoad).toMatchObject({ status: 200, body: [], headers: { 'x-partial-result': 'locations' } });
  });

  it('returns the fields of a location, with the query as it was sent', async () => {
    const got = await search({ query: ' MÜNCHEN', limit: '1' });
    expect(got.headers['x-partial-result']).toBeUndefined();
    expect(got.body).toEqual([
      {
        resource_name: 'geoTargetConstants/2867714',
        name: 'Munich',
        canonical_name: 'Munich,Bavaria,Germany',
        country_code: 'DE',
        target_type: 'City',
        reach: 1260391,
        search_term: ' MÜNCHEN',
      },
    ]);
  });

  it('orders exact names by reach, then names that begin with the query, then similar ones', async () => {
    const found = await find('paris');
    expect(found.slice(0, 2)).toEqual(['Paris,Île-de-France,France', 'Paris,Texas,United States']);
    const munich = await find('münchen');
    expect(munich.slice(0, 2)).toEqual(['Munich,Bavaria,Germany', 'Münchenstein,Basel-Landschaft,Switzerland']);
    expect(await find('frankf', { limit: '1' })).toEqual(['Frankfurt am Main,Hesse,Germany']);
    expect((await find('barselona'))[0]).toBe('Barcelona,Catalonia,Spain');
  });

  it('ranks other names below own names', async () => {
    const found = await find('sao paulo');
    expect(found.slice(0, 3)).toEqual(['São Paulo,Brazil', 'São Paulo,São Paulo,Brazil', 'Frei Paulo,Sergipe,Brazil']);
  });

  it('finds names in other scripts and languages, also of countries', async () => {
    expect((await find('東京'))[0]).toBe('Tokyo,Tokyo,Japan');
    expect((await find('мюнхен'))[0]).toBe('Munich,Bavaria,Germany');
    expect((await find('bombay india'))[0]).toBe('Mumbai,Maharashtra,India');
    expect((await find('deutschland'))[0]).toBe('Germany');
  });

  it('finds a name with its region or country, in full or abbreviated', async () => {
    expect((await find('Paris, Texas'))[0]).toBe('Paris,Texas,United States');
    expect((await find('austin tx'))[0]).toBe('Austin,Texas,United States');
    expect((await find('nice france'))[0]).toBe("Nice,Provence-Alpes-Côte d'Azur,France");
  });

  it('finds a part of the canonical name if nothing else matches', async () => {
    expect(await find('hesse germany frankfrt am main hesse', { limit: '1' })).toEqual([
      'Frankfurt am Main,Hesse,Germany',
    ]);
  });

  it('of one or two characters finds only names that begin with them, the largest first', async () => {
    const found = await find('m', { country_code: 'DE' });
    expect(found.slice(0, 2)).toEqual(['Mecklenburg-Vorpommern,Germany', 'Munich,Bavaria,Germany']);
    expect(await find('zq')).toEqual([]);
  });

  it('returns the locations with the largest reach for an empty query', async () => {
    const largest = await search();
    expect(largest.body).toHaveLength(10);
    expect(largest.body[0]).toMatchObject({ name: 'China', target_type: 'Country', search_term: '' });
    const reaches = largest.body.map(({ reach }: { reach: number }) => reach);
    expect(reaches).toEqual(reaches.toSorted((a: number, b: number) => b - a));
    expect(await find('  ', { country_code: 'fr', limit: '2' })).toEqual(['France', 'Île-de-France,France']);
  });

  it('finds only locations of the country, and none for a code that no country has', async () => {
    expect(await find('paris', { country_code: 'US', limit: '1' })).toEqual(['Paris,Texas,United States']);
    for (const query of ['paris', 'p', 'münchen', '']) expect(await find(query, { country_code: 'ZZ' })).toEqual([]);
  });

  it('finds nothing for a query without letters and digits', async () => {
    for (const query of ['!', '…', '🎉', '\u0000', '%_\\']) expect(await find(query)).toEqual([]);
  });

  it('treats what PostgreSQL gives a meaning as text', async () => {
    for (const query of ['%', 'par_s%', "paris'--", 'paris\\', '{a,b}']) await find(query);
    expect(await find('par%')).toEqual(await find('par'));
  });

  it('refuses values outside of the bounds', async () => {
    const faultsOf = async (parameters: Record<string, string>) => (await search(parameters)).body.detail;
    expect(await faultsOf({ query: 'x'.repeat(257) })).toMatchObject([
      { loc: ['query', 'query'], type: 'string_too_long' },
    ]);
    for (const country_code of ['D', 'DEU', '12', 'd\u00eb'])
      expect(await faultsOf({ country_code })).toMatchObject([{ loc: ['query', 'country_code'] }]);
    expect(await faultsOf({ limit: '0' })).toMatchObject([{ loc: ['query', 'limit'], type: 'greater_than_equal' }]);
    expect(await faultsOf({ limit: '101' })).toMatchObject([{ loc: ['query', 'limit'], type: 'less_than_equal' }]);
    expect(await faultsOf({ limit: 'x' })).toMatchObject([{ loc: ['query', 'limit'], type: 'int_parsing' }]);
    expect((await search({ query: 'é'.repeat(256), limit: '100' })).status).toBe(200);
  });

  it('answers long queries of frequent trigrams', async () => {
    const words = 'san la de el los las santa maria new york city villa north south east west port fort lake saint ';
    for (const query of [words.repeat(3).slice(0, 256), 'san '.repeat(64), 'a'.repeat(256), 'ﷺ'.repeat(256)])
      expect((await search({ query, limit: '100' })).status).toBe(200);
  });
});
