// Tests code snippets. Secrets are assembled where they are used, so this file contains none.
import { describe, expect, it } from 'vitest';
import { createAppReader } from './scan-file.ts';

/** A finding's snippet if its call contains the given lines. */
function snippetWith(lines: string): string {
  const reader = createAppReader();
  reader.program.add(
    'functions/f.ts',
    `export default async (req) => fetch((await req.json()).url, {\n  run() {\n${lines}\n}});`,
  );
  const [finding] = reader.read('functions/f.ts').staticCode;
  expect(finding?.rule_id).toBe('code.ssrf');
  return finding?.item.snippet ?? '';
}

const chosen = ['Hunter2', 'Hunter2'].join('');

describe('a snippet', () => {
  it.each<[string, string, string]>([
    ['a password in an address', `pool('postgres://app:${chosen}@db.prod.net/main')`, chosen],
    ['a password in an address of this machine', `pool('postgres://app:${chosen}@db/main')`, chosen],
    ['a password of a command', `exec("mysql -p${chosen} -u root")`, chosen],
    ['an assigned password', `const dbPass = '${chosen}';`, chosen],
    ['an assigned password without digits', `const dbPass = 'correct horse battery';`, 'horse'],
    ['a short password', `const pwd = 'abc123';`, 'abc'],
    ['a password that is passed', `login('admin','${chosen}&x')`, chosen],
    ['a password that is passed without digits', `login('admin', 'opensesame')`, 'sesame'],
    ['a value with its name', `headers.set('x-token', 'opensesame')`, 'sesame'],
    ['a signature in an address', `get('https://x.example.net/f?sig=AKIA${chosen}')`, chosen],
    ['a password behind the end of the line', `${' '.repeat(280)}const dbPass = '${chosen}';`, 'Hunter2'],
    ['a key across lines', `-----BEGIN PRIVATE KEY-----\n${'q8Zk'.repeat(16)}\n-----END PRIVATE KEY-----`, 'q8Zkq8Zk'],
  ])('masks %s', (_, lines, secret) => {
    expect(snippetWith(lines)).not.toContain(secret);
  });

  it('leaves code readable', () => {
    const lines = "const rows = await db.query(`select id from notes where name = '${name}'`);\n<Row key={item.id} />";
    expect(snippetWith(lines)).toContain(lines);
  });
});
