// Creates the drill's people, workspaces and credentials.
import { randomBytes } from 'node:crypto';
import type { App } from '../../server/src/app.ts';
import type { Config } from '../../server/src/config.ts';
import type { WorkspaceRole } from '../../server/src/core/auth/roles.ts';
import {
  insertCredential,
  insertMembership,
  insertUser,
  insertWorkspace,
  type NewCredential,
} from '../../server/src/core/identity/users.ts';
import type { Caller } from './caller-kinds.ts';

/** Returns a unique text. */
export const marker = (): string => randomBytes(8).toString('hex');

export type Fixtures = ReturnType<typeof createFixtures>;

export function createFixtures({ database: { db } }: App, config: Config) {
  const now = new Date();
  const mint = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const credential = async (about: Partial<NewCredential> & Pick<NewCredential, 'kind'>): Promise<string> =>
    (await insertCredential(db, mint, { user_id: null, workspace_id: null, permission: 'full_access', ...about }, now))
      .token;
  return {
    db,
    now,
    credential,
    person: (name: string) =>
      insertUser(db, { email: `${name}@example.com`, full_name: name, email_verified: true }, now),
    async workspace(owner_id: string): Promise<string> {
      const id = await insertWorkspace(db, { name: 'Neighbours', plan: 'enterprise', owner_id }, now);
      // Requests are counted as in production, but the limit is never reached.
      await db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
      return id;
    },
    /** Creates this many members with this role. Returns their tokens. */
    async members(workspace_id: string, role: WorkspaceRole, count: number, sharedApp?: string): Promise<Caller[]> {
      const callers: Caller[] = [];
      for (let n = 0; n < count; n += 1) {
        const user_id = await insertUser(
          db,
          { email: `${role}${n}-${marker()}@example.com`, full_name: role, email_verified: true },
          now,
        );
        await insertMembership(db, { workspace_id, user_id, role }, now);
        if (sharedApp !== undefined) {
          const share = { app_id: sharedApp, workspace_id, user_id, role: 'editor', created_date: now } as const;
          await db.insertInto('app_shares').values(share).execute();
        }
        callers.push(bearer(await credential({ kind: 'personal_token', user_id, workspace_id })));
      }
      return callers;
    },
  };
}

export const bearer = (token: string): Caller => ({ headers: { authorization: `Bearer ${token}` } });
