// Checks the tables that background work reads: all of the product's queues, events and unsealed audit entries.
import { Writable } from 'node:stream';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createArchiveTables } from '../../src/app/archives.ts';
import { writeExport } from '../../src/features/workspaces/export.ts';
import { listSnapshotHolders } from '../../src/kit/background/snapshots.ts';
import { startWorld } from '../support/world.ts';

const world = await startWorld();
const { db } = world.app.database;
const tables = ['events', 'audit_pending', ...world.app.background.queues.map((queue) => queue.name)];

it.each(tables)('%s is vacuumed after few dead rows, with its indexes and without being cut off', async (table) => {
  const { rows } = await sql<{ options: string[] }>`
    select reloptions as options from pg_class where oid = ${table}::regclass`.execute(db);
  const options = Object.fromEntries((rows[0]?.options ?? []).map((option) => option.split('=')));
  expect(options).toMatchObject({
    autovacuum_vacuum_threshold: '5000',
    autovacuum_vacuum_cost_delay: '0',
    vacuum_index_cleanup: 'on',
    vacuum_truncate: 'off',
    fillfactor: '70',
  });
  expect(Number(options.autovacuum_vacuum_scale_factor)).toBeLessThanOrEqual(0.01);
});

it('an export is named as the holder of its snapshot', async () => {
  const workspace = await world.workspace(await world.person('owner@example.com'));
  const exporting = await world.db.transaction().execute(async (locked) => {
    await sql`lock table folders in access exclusive mode`.execute(locked); // keeps the export in its snapshot
    const destination = new Writable({ write: (_chunk, _encoding, done) => done() });
    const exporting = writeExport({ db, workspaceId: workspace, tables: createArchiveTables() }, destination);
    const listHolders = async () => (await listSnapshotHolders(world.db)).map(({ holder }) => holder);
    await expect.poll(listHolders).toContain('export');
    return { exporting };
  });
  await exporting.exporting;
});
