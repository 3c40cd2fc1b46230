// Tests sorting on PostgreSQL: the order of types, and pages that neither skip nor repeat records.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgreementDatabase, openAgreementDatabase } from '../../../../../test/support/rule-agreement.ts';
import { serverUrl } from '../../../../../test/support/template.ts';
import type { Principal } from '../../../../core/auth/principal.ts';
import { newRuleChecks } from '../decision/checks.ts';
import { parseFieldRules } from '../field-rules.ts';
import type { SchemaProperties } from '../properties.ts';
import { compileSort, parseSort } from './sort.ts';

const open = { type: 'object' };
const fields: SchemaProperties = { a: open, b: open, c: { ...open, rls: { read: { is_sample: true } } } };
const person = { isManager: false, id: 'u', email: 'a@b.c', full_name: 'A', role: 'user', data: {} };
const ann: Principal = { kind: 'signed_in', ...person };

let database: AgreementDatabase;

beforeAll(async () => {
  database = await openAgreementDatabase(serverUrl, 5);
  // Give the records distinct ids in random order.
  await database.client.query(
    "update records set id = md5(n::text)::uuid, created_date = created_date + n % 3 * interval '1 ms'",
  );
});
afterAll(() => database.close());

/** Pages through all records and returns their numbers in order. */
async function paged(text: string, size: number): Promise<number[]> {
  const sort = parseSort(text, [], fields);
  const rules = parseFieldRules(fields, []);
  if ('faults' in sort || 'faults' in rules) throw new Error('refused');
  const found: number[] = [];
  for (let position: string[] | undefined; ; ) {
    const values: unknown[] = [];
    const writer = { bind: (value: unknown) => `$${values.push(value)}` };
    const context = { fieldRules: rules.fieldRules, checks: newRuleChecks('Task', ann) };
    const order = compileSort(sort.sort, context, writer);
    const after = position === undefined ? 'true' : order.after(position);
    const statement = `select r.n, ${order.position} as position from records r where ${after} order by ${order.by} limit ${size}`;
    const { rows } = await database.client.query<{ n: number; position: string[] }>(statement, values);
    found.push(...rows.map(({ n }) => n));
    if (rows.length < size) return found;
    position = rows.at(-1)?.position;
  }
}

describe('sort', () => {
  it.each(['a', '-a', 'created_date', '-created_date,-a', 'is_sample,-a,b', '-c,a', 'a.b,-created_by', 'id'])(
    '%s: pages contain every record once, in the order of a single page',
    async (text) => {
      const whole = await paged(text, 5_000);
      expect(new Set(whole).size).toBe(database.records.length);
      expect(await paged(text, 333)).toEqual(whole);
    },
  );

  it('sorts ascending: missing and null, false, true, numbers, text by code points, then the rest', async () => {
    const seen = (await paged('a', 5_000)).map((n) => database.records[n]?.data.a ?? null);
    expect(seen).toEqual([...seen].sort(compare));
    expect(new Set(seen.map(kindOf)).size).toBe(5);
  });

  it('sorts descending in exactly the reverse order, with missing last', async () => {
    expect(await paged('-a', 5_000)).toEqual((await paged('a', 5_000)).reverse());
  });

  it('treats values that the caller may not read as equal', async () => {
    const hidden = (await paged('c', 5_000)).filter((n) => database.records[n]?.is_sample === false);
    const ids = await database.client.query<{ n: number }>('select n from records where not is_sample order by id');
    expect(hidden).toEqual(ids.rows.map(({ n }) => n));
    const first = (await paged('c', 5_000)).slice(0, hidden.length + 1);
    expect(first.filter((n) => database.records[n]?.is_sample === false).length).toBeGreaterThan(0);
  });

  it.each([
    ['a,b,c,id', 'too_long'],
    ['nope', 'unknown_field'],
    ['', 'unknown_field'],
    ['--a', 'unknown_field'],
    ["a' desc", 'unknown_field'],
  ])('refuses %s: %s', (text, type) => {
    const parsed = parseSort(text, ['query', 'sort'], fields);
    expect(parsed).toEqual({ faults: [{ loc: ['query', 'sort'], msg: expect.any(String), type }] });
  });
});

const kindOf = (value: unknown): number =>
  value === null ? 0 : ['boolean', 'number', 'string', 'object'].indexOf(typeof value) + 1;

function compare(a: unknown, b: unknown): number {
  if (kindOf(a) !== kindOf(b)) return kindOf(a) - kindOf(b);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return typeof a === 'object' ? 0 : Number(a) - Number(b);
}
