// Tests exports of a workspace that is in use: what an archive contains, and that no snapshot is held for long.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createArchiveTables, exportTo, importWorkspace, readArchive } from '../../../test/support/archives.ts';
import { createFullWorkspace } from '../../../test/support/full-workspace.ts';
import { startWorld } from '../../../test/support/world.ts';
import { grant, reserve, settle } from '../../core/credits/reservations.ts';
import { newId } from '../../kit/ids.ts';
import { writeExport } from './export.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-export-'));
const world = await startWorld({ environment: { STORAGE_FOLDER: folder } });
const { owner, workspace, send, app, task } = await createFullWorkspace(world);
const asExported = { defaultPlan: 'enterprise', keepPlan: true } as const;

it('an archive has what there was at the start, and can be imported, whatever is deleted and created meanwhile', async () => {
  const sealing = world.app.background.jobs.find(({ name }) => name === 'seal audit entries');
  await sealing?.run(world.app.database.db, new Date());
  const file = join(folder, 'meanwhile.tar.gz');
  const [agent] = await send('GET', '/api/agents').then(({ items }) => items);
  const [user] = await send('GET', `/api/apps/${app.id}/users`).then(({ items }) => items);
  // Files are read after the snapshot and before records, so the export waits here until the changes are committed.
  const { exporting } = await world.db.transaction().execute(async (locked) => {
    await sql`lock table app_files in access exclusive mode`.execute(locked);
    const exporting = exportTo(world.app.database.db, workspace, file);
    const isWaiting = async () =>
      (await sql`select from pg_locks where relation = 'app_files'::regclass and not granted`.execute(world.db)).rows
        .length;
    await expect.poll(isWaiting).toBe(1);

    const dated = { workspace_id: workspace, id: newId(), created_date: new Date() };
    const [conversation] = await world.db
      .selectFrom('agent_conversations')
      .where('workspace_id', '=', workspace)
      .selectAll()
      .execute();
    const message = {
      conversation_id: String(conversation?.id),
      position: 2,
      role: 'assistant',
      content: 'Late',
    } as const;
    await world.db
      .insertInto('agent_messages')
      .values({ ...dated, ...message, updated_date: new Date() })
      .execute();
    await world.db
      .updateTable('agent_conversations')
      .where('id', '=', message.conversation_id)
      .set({ last_position: 2 })
      .execute();
    await world.db.deleteFrom('agent_memories').where('workspace_id', '=', workspace).execute();
    await grant(world.db, workspace, { amount: 7, note: 'late', user_id: owner.id }, new Date());
    const late = await reserve(
      world.db,
      {
        workspace_id: workspace,
        app_id: app.id,
        user_id: owner.id,
        operation: 'test',
        reference_id: 'late',
        amount: 2,
        leaseMs: 60_000,
      },
      new Date(),
    );
    await settle(world.db, late, 1, new Date());
    await send('DELETE', `/api/apps/${app.id}/entities/Task/${task.id}`);
    await send('POST', `/api/apps/${app.id}/entities/Task`, { code: 'Late' });
    await send('DELETE', `/api/apps/${app.id}/users/${user.id}`);
    await send('POST', `/api/apps/${app.id}/users`, { email: user.email });
    const other = await send('POST', '/api/apps', { name: 'Late' });
    await send('PUT', `/api/apps/${other.id}/entity-schemas/Note`, { name: 'Note', properties: { text: {} } });
    await send('POST', `/api/apps/${other.id}/entities/Note`, { text: 'late' });
    await send('DELETE', `/api/agents/${agent.id}`);
    await sealing?.run(world.app.database.db, new Date());
    // Two more revisions: a file is replaced and removed, another one is added.
    await sql`update apps set revision = revision + 1 where id = ${app.id}`.execute(locked);
    await sql`insert into app_revisions (app_id, revision, cause, created_date) select id, revision, 'file', now() from apps where id = ${app.id}`.execute(
      locked,
    );
    const changed = { content: Buffer.from('late'), sha256: 'x'.repeat(64), size: 4 };
    await locked
      .updateTable('app_files')
      .where('app_id', '=', app.id)
      .where('path', '=', 'a.ts')
      .set(changed)
      .execute();
    await sql`update apps set revision = revision + 1 where id = ${app.id}`.execute(locked);
    await locked.deleteFrom('app_files').where('app_id', '=', app.id).where('path', '=', 'b.bin').execute();
    await locked
      .insertInto('app_files')
      .values({ ...changed, app_id: app.id, path: 'late.ts', encoding: 'utf-8', updated_date: new Date() })
      .execute();
    return { exporting };
  });
  await exporting;

  const { manifest, tables } = await readArchive(file);
  expect(manifest).toMatchObject({
    consistency: 'each row as of a time between started_at and ended_at',
    per_table: { apps: { rows: 2 }, app_files: { rows: 2 }, entity_records: { rows: 3 } },
  });
  const times = [manifest.started_at, ...Object.values(manifest.per_table as object).map((times) => times.first_at)];
  for (const time of times) expect(Date.parse(time)).toBeLessThanOrEqual(Date.parse(String(manifest.ended_at)));
  const rowsOf = (table: string) => tables.get(table) ?? [];
  const text = (table: string) => JSON.stringify(rowsOf(table));
  expect(rowsOf('app_files').map(({ path }) => path)).toEqual(['a.ts', 'b.bin']);
  expect(Buffer.from(String(rowsOf('app_files')[0]?.content), 'base64').toString()).toBe('ü');
  for (const table of ['apps', 'app_files', 'entity_records', 'app_users', 'credit_ledger'])
    expect(text(table), table).not.toContain('late');
  expect(text('entity_records')).not.toContain('Late');
  expect(rowsOf('entity_records').map(({ id }) => id)).toContain(task.id);

  const { workspace_id, skipped } = await importWorkspace(world.db, file, asExported, new Date());
  expect(skipped).toEqual({});
  const token = await world.token(owner, workspace_id);
  const read = async (path: string) => (await world.call('GET', path, { as: token })).body;
  expect(await read('/api/workspace/audit-log/verify')).toMatchObject({ valid: true });
  expect((await read('/api/apps')).items.map(({ name }: { name: string }) => name)).toEqual([app.name]);
  expect(await read('/api/workspace/credits')).toMatchObject({ used: 2.5, reserved: 1 });
});

it('no snapshot is older than two seconds, however long the export of many records takes', async () => {
  await sql`insert into entity_records (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date, size_bytes)
    select ${app.id}, gen_random_uuid(), 'Task', jsonb_build_object('code', n, 'zeta', repeat('x', 200)), '', 'anonymous', now(), now(), 230
    from generate_series(1, 30000) n`.execute(world.db);
  let isWriting = true;
  const slow = new Writable({
    async write(_chunk, _encoding, done) {
      await sleep(100);
      done();
    },
  });
  const startedAt = performance.now();
  const exporting = writeExport(
    { db: world.app.database.db, workspaceId: workspace, tables: createArchiveTables() },
    slow,
  ).finally(() => {
    isWriting = false;
  });
  let oldest = 0;
  for (; isWriting; await sleep(20)) {
    const { rows } = await sql<{
      seconds: number;
    }>`select extract(epoch from max(clock_timestamp() - xact_start))::float as seconds
      from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null`.execute(
      world.db,
    );
    oldest = Math.max(oldest, rows[0]?.seconds ?? 0);
  }
  expect(await exporting).toMatchObject({ entity_records: 30_000 + 5 });
  expect((performance.now() - startedAt) / 1000).toBeGreaterThan(4);
  expect(oldest).toBeLessThan(2);
});
