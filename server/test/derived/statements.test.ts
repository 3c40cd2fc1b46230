// Tests that PostgreSQL can prepare every statement that has a name: tables and columns exist, and the type of each
// parameter is the same wherever it is used. Otherwise a path that no other test takes would fail in production.
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { namedStatements } from '../../src/kit/db/client.ts';
import { cloneTemplate } from '../support/template.ts';
import { startWorld } from '../support/world.ts';

await startWorld(); // defines all statements
const cloned = await cloneTemplate();
const client = new pg.Client(cloned.ownerUrl);
await client.connect();
afterAll(async () => {
  await client.end();
  await cloned.drop();
});

const statements = [...namedStatements].filter(([name]) => !name.startsWith('test:'));

it('knows the statements of the product', () => {
  expect(statements.length).toBeGreaterThan(100);
});

it.each(statements)('prepares: %s', async (_name, text) => {
  await client.query(`prepare one as ${text}`);
  await client.query('deallocate one');
});
