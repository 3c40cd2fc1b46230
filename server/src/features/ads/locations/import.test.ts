// Tests replacing the location catalogue with a release's places and with the ad platform's file
// (docs/operate/locations.md).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, writeSmallCatalogue } from '../../../../test/support/places.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { loadBundledLocations } from './catalogue.ts';
import { hasImportedLocations, importLocations } from './import.ts';

const { db, clock } = await startWorld();
const named = ['Munich', 'Frankfurt am Main', 'Springfield'];
const countries = ['DE', 'US'];
const bundled = writeSmallCatalogue(named, countries);
const folder = makeFolder();

const header = 'Criteria ID,"Name","Canonical Name","Parent ID","Country Code","Target Type",Status';
const germany = '2276,"Germany","Germany","","DE","Country",Active';
const hesse = '20231,"Hesse","Hesse,Germany","2276","DE","State",Active';
const munich = '1004234,"Munich","Munich,Bavaria,Germany","20229","DE","City",Active';

function write(lines: readonly string[] | Buffer): string {
  const file = join(folder, 'geotargets.csv');
  writeFileSync(file, lines instanceof Buffer ? lines : `${lines.join('\r\n')}\r\n`);
  return file;
}
const importLines = (lines: readonly string[] | Buffer) => importLocations(db, write(lines), bundled, clock.now());
const listLocations = () => db.selectFrom('locations').selectAll().orderBy('id').execute();
const listNamesOf = async (id: number) =>
  (await db.selectFrom('location_names').select('folded_name').where('location_id', '=', id).execute()).map(
    ({ folded_name }) => folded_name,
  );

beforeEach(async () => {
  await db.deleteFrom('location_catalogue').execute();
});

describe('loadBundledLocations', () => {
  it('loads the places once, and again if they differ', async () => {
    const count = await loadBundledLocations(db, bundled, clock.now());
    expect(count).toBeGreaterThan(100);
    expect(await listLocations()).toHaveLength(count as number);
    expect(await loadBundledLocations(db, bundled, clock.now())).toBeUndefined();
    const others = writeSmallCatalogue([...named, 'Paris'], countries);
    expect(await loadBundledLocations(db, others, clock.now())).toBeGreaterThan(count as number);
    expect(await hasImportedLocations(db)).toBe(false);
  });

  it('stores regions and cities below what contains them', async () => {
    await loadBundledLocations(db, bundled, clock.now());
    const [city, region, country] = await db
      .selectFrom('locations as city')
      .innerJoin('locations as region', 'region.id', 'city.parent_id')
      .innerJoin('locations as country', 'country.id', 'region.parent_id')
      .where('city.id', '=', 2867714)
      .select(['city.name as city', 'region.name as region', 'country.name as country', 'country.parent_id'])
      .execute()
      .then(([row]) => [row?.city, row?.region, row?.country]);
    expect([city, region, country]).toEqual(['Munich', 'Bavaria', 'Germany']);
  });

  it('leaves imported locations alone', async () => {
    await importLines([header, munich]);
    expect(await loadBundledLocations(db, bundled, clock.now())).toBeUndefined();
    expect(await listLocations()).toHaveLength(1);
    expect(await hasImportedLocations(db)).toBe(true);
  });
});

describe('importLocations', () => {
  it('replaces the catalogue, with the populations and other names of bundled places', async () => {
    const got = await importLines([
      header,
      germany,
      hesse,
      munich,
      '1004376,"Frankfurt","Frankfurt,Hesse,Germany","20231","DE","City",Active',
      '1016367,"Springfield","Springfield,Illinois,United States","21147","US","City",Active',
      '9000001,"Springfield","Springfield,Atlantis,United States","0","US","City",Active',
      '9041082,"Munich","Munich,Bavaria,Germany","20229","DE","Airport",Active',
      '9000002,"Old ""Town""","Old ""Town"",Hesse,Germany","20231","DE","City",Removal Planned',
      '9000003,"Nowhere","Somewhere,Hesse,Germany","20231","DE","City",Active',
    ]);
    expect(got).toEqual({ locations: 8, known: 5, inactive: 1 });
    const locations = Object.fromEntries((await listLocations()).map((row) => [row.id, row]));
    expect(locations[2276]).toMatchObject({ reach: 76917620, parent_id: null, target_type: 'Country' });
    expect(locations[20231]?.reach).toBeGreaterThan(1_000_000);
    expect(locations[1004234]).toMatchObject({
      reach: 1260391,
      parent_id: 20229,
      canonical_name: 'Munich,Bavaria,Germany',
    });
    expect(locations[1004376]).toMatchObject({ name: 'Frankfurt', reach: 650000 });
    expect(locations[1016367]).toMatchObject({ reach: expect.any(Number), codes: 'il us' });
    expect(locations[1016367]?.reach).toBeGreaterThan(100_000);
    expect([locations[9000001], locations[9041082], locations[9000003]].map((row) => row?.reach)).toEqual([0, 0, 0]);
    expect(locations[9000003]?.folded_path).toBe('nowhere somewhere hesse germany');
    expect(await listNamesOf(1004234)).toContain('munchen');
    expect(await listNamesOf(1004376)).toContain('frankfurt am main');
    expect(await listNamesOf(2276)).toContain('deutschland');
  });

  it('reads columns in any order, a byte order mark and lines of any length of file', async () => {
    const lines = Array.from({ length: 5_001 }, (_, i) => `Active,City,DE,,"Place ${i},Germany",Place ${i},${i + 1}`);
    const other = '\ufeffStatus,Target Type,Country Code,Parent ID,Canonical Name,Name,Criteria ID';
    expect(await importLines([other, ...lines])).toEqual({ locations: 5_001, known: 0, inactive: 0 });
    expect(await db.selectFrom('location_catalogue').selectAll().execute()).toMatchObject([
      { source: 'imported', location_count: 5_001, checksum: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
  });

  it('can be repeated', async () => {
    for (let i = 0; i < 2; i += 1)
      expect(await importLines([header, germany, munich])).toEqual({ locations: 2, known: 2, inactive: 0 });
    expect(await listLocations()).toHaveLength(2);
  });

  it.each([
    ['a file without records', [header], 'it contains no active locations'],
    ['an empty file', Buffer.alloc(0), 'it is empty'],
    ['another CSV file', ['id,name', '1,Paris'], /^its header row is missing columns: criteria id, canonical name, /],
    ['an archive', Buffer.from([0x50, 0x4b, 0x03, 0x04, 0xff, 0xfe]), /^it is not valid UTF-8/],
    ['one endless line', Buffer.alloc(200_000, 'x'), 'it contains a line that is too long for CSV'],
    ['an open quote', [header, '1,"Paris'], 'line 2 is not valid CSV'],
    ['an id that is none', [header, munich, 'x,"A","A","","DE","City",Active'], 'line 3 has an invalid criteria id'],
    ['a missing field', [header, '1,"A","A"'], 'line 2 has an invalid target type'],
    ['a country that is none', [header, '1,"A","A","","Germany","City",Active'], 'line 2 has an invalid country code'],
    ['a repeated id', [header, munich, munich], 'line 3 repeats an id from an earlier line'],
  ])('refuses %s and changes nothing', async (_, lines, message) => {
    await importLines([header, germany]);
    const before = await listLocations();
    await expect(importLines(lines)).rejects.toThrow(message);
    expect(await listLocations()).toEqual(before);
    expect(await hasImportedLocations(db)).toBe(true);
  });
});
