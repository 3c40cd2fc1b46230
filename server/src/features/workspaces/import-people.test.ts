// Tests which accounts become members in an import. People are found by their verified e-mail address.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { importWorkspace } from '../../../test/support/archives.ts';
import { runDueRows } from '../../../test/support/run-queue.ts';
import { startWorld } from '../../../test/support/world.ts';
import { hashPassword, savePassword } from '../../core/identity/passwords.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
afterAll(() => rmSync(folder, { recursive: true }));
const world = await startWorld({ environment: { STORAGE_FOLDER: folder } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const member = await world.member(workspace, 'admin', 'member@example.com');

it('an import gives nothing to an account whose owner has not proven the address', async () => {
  const as = await world.token(owner, workspace);
  const { export_id } = (await world.call('POST', '/api/workspace/export', { as })).body;
  await runDueRows(world, 'workspace_exports');
  const importIt = () =>
    importWorkspace(
      world.db,
      join(folder, 'exports', `${export_id}.tar.gz`),
      { defaultPlan: 'free', keepPlan: false },
      new Date(),
    );
  const setVerified = (email_verified_at: Date | null) =>
    world.db.updateTable('users').set({ email_verified_at }).where('id', '=', member.id).execute();

  await setVerified(null);
  await savePassword(
    world.db,
    member.id,
    await hashPassword('a long enough password', { ip: '127.0.0.1' }),
    new Date(),
  );
  await expect(importIt()).rejects.toThrow('the account with this e-mail address has not been verified as theirs');
  // An account without a password was created by an import, so no one has claimed it yet.
  await world.db.deleteFrom('passwords').where('user_id', '=', member.id).execute();
  await importIt();
  await setVerified(new Date());
  await importIt();
  const memberships = await world.db
    .selectFrom('memberships')
    .where('user_id', '=', member.id)
    .select('role')
    .execute();
  expect(memberships).toEqual(Array(3).fill({ role: 'admin' }));
});
