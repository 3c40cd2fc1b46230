// Tests the files of records that are downloaded, and what is said about who created a record and how many there are.
import { describe, expect, it } from 'vitest';
import { writeHead, writeRows } from './csv.ts';
import { describeTotal, nameCreator, type Row } from './rows.ts';

const schema = {
  name: 'Task',
  properties: {
    title: { type: 'string' },
    due_date: { type: 'string' },
    cost: { type: 'number' },
    tags: { type: 'array' },
  },
} as const;
const record = { id: 'r1', created_by: 'ann@example.com', created_date: '2026-11-15T09:30:00.000Z' };
const writeTitle = (title: string) => writeRows(schema, [{ record: { ...record, title } }]).split(',')[0];

it('a file has all fields, who created a record, and when', () => {
  const row = { record: { ...record, title: 'Say "hi",\nthen go', cost: -5, tags: ['a', 'b'] } };
  expect(writeHead(schema)).toBe('\uFEFF"Title","Due date","Cost","Tags","Created by","Added","Id"\r\n');
  expect(writeRows(schema, [row])).toBe(
    `"Say ""hi"",\nthen go",,-5,"[""a"",""b""]","ann@example.com","${record.created_date}","r1"\r\n`,
  );
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＋1', '－1', '＠SUM(A1)', '\t1', '\r1', '\n1'])(
  'the text %j is no formula',
  (text) => expect(writeTitle(text)).toBe(`"'${text}"`),
);

it.each([
  ['a;=1', `"a;'=1"`],
  ['a\t+1', `"a\t'+1"`],
  ['a;＝1;@b', `"a;'＝1;'@b"`],
  ['a\n-1', `"a\n'-1"`],
  ['\n=1', `"'\n'=1"`],
  ['a;"=1', `"a;""'=1"`],
  ['a-1; b=2 ;"c"', `"a-1; b=2 ;""c"""`],
])('the text %j is none where a program splits it', (title, cell) => {
  expect(writeRows(schema, [{ record: { ...record, title } }]).startsWith(`${cell},`)).toBe(true);
});

it('a comma in a text begins no formula', () => {
  expect(writeRows(schema, [{ record: { ...record, title: 'a,=1' } }])).toMatch(/^"a,'=1",/);
});

describe('who created a record', () => {
  it.each([
    ['Ann', { kind: 'app_user', id: 'a', email: 'ann@example.com', full_name: 'Ann' }],
    ['ann@example.com', { kind: 'app_user', id: 'a', email: 'ann@example.com', full_name: '' }],
    ['Olive (your team)', { kind: 'member', id: 'a', email: 'o@example.com', full_name: 'Olive' }],
    ['removed user', { kind: 'removed', id: 'a', email: null, full_name: null }],
    ['nobody signed in', { kind: 'anonymous', id: null, email: null, full_name: null }],
    ['not shown by this app', { kind: 'app_user', id: 'a', email: null, full_name: null }],
  ] satisfies [string, Row['creator']][])('is called %s', (name, creator) => {
    expect(nameCreator({ record, creator })).toBe(name);
  });
});

it('a total is never a number that was not counted', () => {
  expect(describeTotal({ count: 1, or_more: false }, '')).toBe('1 record');
  expect(describeTotal({ count: 10_000, or_more: true }, '')).toBe('10,000 or more records');
  expect(describeTotal({ count: 0, or_more: false }, 'tea')).toBe('0 records with “tea”');
  expect(describeTotal(null, '')).toBe('too many records to count');
  expect(describeTotal(undefined, '')).toBe('');
});
