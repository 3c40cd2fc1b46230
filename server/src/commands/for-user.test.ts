// Tests the commands that act on a single user: operators and deactivated accounts. test/e2e runs some of them as real
// processes.
import { afterAll, describe, expect, it, vi } from 'vitest';
import { cloneTemplate } from '../../test/support/template.ts';
import { readConfig } from '../config.ts';
import { insertUser } from '../core/identity/users.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';
import { apiKey } from './api-key.ts';
import { createFirstUser } from './bootstrap.ts';
import { newKeys } from './keys.ts';
import { operator } from './operator.ts';
import { user } from './user.ts';

const database = await cloneTemplate();
const settings = { ...newKeys(), DATABASE_URL: database.url, BASE_URL: 'https://plinth.example' };
for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
const output = vi.spyOn(console, 'log').mockImplementation(() => {});
const { db, close } = openDatabase<Tables>({ url: database.url, poolSize: 1 });
afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await close();
  await database.drop();
});

const [first, second] = ['first@example.com', 'second@example.com'];
const { token } = await createFirstUser(db, readConfig(settings), { email: first, name: 'First', workspace: 'Ours' });
await insertUser(db, { email: second, full_name: 'Second', email_verified: true }, new Date());

const operators = async () =>
  (await db.selectFrom('users').select('email').where('is_operator', '=', true).execute()).map(({ email }) => email);
const auditEntries = async (type: string) =>
  (await db.selectFrom('audit_pending').select(['workspace_id', 'entry']).execute())
    .map(({ workspace_id, entry }) => ({ workspace_id, ...(JSON.parse(JSON.stringify(entry)) as { type: string }) }))
    .filter((entry) => entry.type === type);

describe('plinth operator add', () => {
  it('refuses an account whose address is not proven, and says what to do', async () => {
    await insertUser(db, { email: 'unproven@example.com', full_name: '', email_verified: false }, new Date());
    await expect(operator(['add', '--user', 'unproven@example.com'])).rejects.toThrow(
      'is not verified, so the account may belong to someone else. Send them the link that "npm run plinth -- user reset',
    );
    expect(await operators()).toEqual([first]);
  });
});

describe('plinth operator remove', () => {
  const remove = (...args: string[]) => operator(['remove', '--user', ...args]);

  it('refuses the last operator unless it is forced, and somebody who is none', async () => {
    await expect(remove(first)).rejects.toThrow('is the last operator');
    await expect(remove(second)).rejects.toThrow('is not an operator');
    expect(await operators()).toEqual([first]);
    expect(await auditEntries('operator.removed')).toEqual([]);
    await remove(first, '--force');
    expect(output).toHaveBeenLastCalledWith(`${first} is no longer an operator`);
    expect(await operators()).toEqual([]);
  });

  it('ends the rights of an operator with an audit entry', async () => {
    for (const email of [first, second]) await operator(['add', '--user', email]);
    await remove(first);
    expect(await operators()).toEqual([second]);
    expect(await auditEntries('operator.removed')).toMatchObject([
      { workspace_id: null, actor: { kind: 'service' }, after: { email: first } },
      { workspace_id: null, actor: { kind: 'service' }, after: { email: first } },
    ]);
  });
});

describe('plinth user deactivate', () => {
  const deactivatedAt = async (email: string) =>
    (await db.selectFrom('users').select('deactivated_at').where('email', '=', email).executeTakeFirstOrThrow())
      .deactivated_at;
  const revokedAt = async () =>
    (
      await db
        .selectFrom('credentials')
        .select('revoked_at')
        .where('last4', '=', token.slice(-4))
        .executeTakeFirstOrThrow()
    ).revoked_at;

  it('refuses the last operator', async () => {
    await expect(user(['deactivate', '--user', second])).rejects.toThrow('is the last operator');
    expect(await deactivatedAt(second)).toBeNull();
  });

  it('deactivates an account once, revokes its tokens and records both in the audit log', async () => {
    await user(['deactivate', '--user', first]);
    expect(await deactivatedAt(first)).not.toBeNull();
    expect(await revokedAt()).not.toBeNull();
    expect(await auditEntries('user.deactivated')).toMatchObject([
      { workspace_id: null, actor: { kind: 'service' }, after: { email: first } },
      { workspace_id: expect.any(String), after: { email: first, revoked: [expect.any(String)] } },
    ]);
    await expect(user(['deactivate', '--user', first])).rejects.toThrow('is deactivated');
  });

  it('leaves an account that gets no link, no key and no operator rights before it is reactivated', async () => {
    for (const command of [
      () => user(['reset', '--user', first]),
      () => apiKey(['issue', '--user', first]),
      () => operator(['add', '--user', first]),
    ])
      await expect(command()).rejects.toThrow('Reactivate the account first');
    await user(['reactivate', '--user', first]);
    expect(await deactivatedAt(first)).toBeNull();
    expect(await revokedAt()).not.toBeNull();
    expect(await auditEntries('user.reactivated')).toMatchObject([{ workspace_id: null, after: { email: first } }]);
    await expect(user(['reactivate', '--user', first])).rejects.toThrow('is not deactivated');
    await user(['reset', '--user', first]);
    expect(output).toHaveBeenLastCalledWith(expect.stringContaining('https://plinth.example/reset-password#'));
  });
});
