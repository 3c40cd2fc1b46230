// The drill's data: a quiet workspace, and a hostile workspace with members, apps, app users and many records.
import { sql } from 'kysely';
import { benchEmail, createBenchApp, createBenchUser, createBenchWorkspace } from '../../harness/fixtures.ts';
import type { Config } from '../../server/src/config.ts';
import { issueProof } from '../../server/src/core/auth/issue-proof.ts';
import type { WorkspaceAccess } from '../../server/src/core/auth/proofs.ts';
import type { WorkspaceRole } from '../../server/src/core/auth/roles.ts';
import { mintToken } from '../../server/src/core/auth/tokens.ts';
import { insertApp } from '../../server/src/core/identity/apps.ts';
import {
  insertCredential,
  insertMembership,
  insertUser,
  insertWorkspace,
} from '../../server/src/core/identity/users.ts';
import type { Db } from '../../server/src/tables.ts';

export interface QuietWorkspace {
  readonly token: string;
  readonly app_id: string;
  readonly record_ids: readonly string[];
}

export interface HostileWorkspace {
  /** The members' tokens. Members are editors, and the first admin is the owner. */
  readonly members: readonly string[];
  readonly admins: readonly string[];
  /** The first app's user tokens. */
  readonly appUsers: readonly string[];
  /** The first app has the records, and the second app is open without login. */
  readonly apps: readonly string[];
  /** 250 KB records of the first app's entity Loose. */
  readonly largeRecords: readonly string[];
  readonly agents: readonly { readonly id: string; readonly conversations: readonly string[] }[];
  /** A run of the first app that waits for a second a thousand times. */
  readonly run: { readonly workflow_id: string; readonly run_id: string };
  /** An app of another workspace of the attacker, whose storage is full, and the tokens of its members. */
  readonly full: { readonly app_id: string; readonly tokens: readonly string[] };
  /** Well-formed tokens that do not exist. */
  readonly unknownTokens: readonly string[];
  readonly unknownIds: readonly string[];
  /** The URL to which the workspace's webhooks send deliveries. */
  readonly receiver: string;
}

export interface SeedSize {
  readonly records: number;
  readonly members: number;
  readonly appUsers: number;
}

const quietRecords = 2_000;
const quietMembers = 500;
const [editors, admins, apps, knownAppUsers] = [12, 4, 10, 20];

export const taskSchema = {
  name: 'Task',
  properties: {
    title: { type: 'string', maxLength: 200 },
    state: { type: 'string', enum: ['draft', 'open', 'done'] },
    price: { type: 'number' },
    n: { type: 'integer' },
  },
  rls: { read: true, write: { created_by: '{{user.email}}' } },
};

export async function seedQuiet(db: Db, config: Config): Promise<QuietWorkspace> {
  const owner = await createBenchUser(db);
  const workspace = await createBenchWorkspace(db, config, owner);
  const app = await createBenchApp(db, workspace, 'user_app', 'Quiet');
  await insertCrowd(db, workspace.workspace_id, 'quiet', quietMembers);
  await insertRecords(db, app.id, taskSchema.name, quietRecords, benchEmail);
  const { rows } = await sql<{ id: string }>`select id from entity_records where app_id = ${app.id} limit 200`.execute(
    db,
  );
  const record_ids = rows.map(({ id }) => id);
  return { token: workspace.token, app_id: app.id, record_ids };
}

export async function seedHostile(db: Db, config: Config, size: SeedSize, receiver: string): Promise<HostileWorkspace> {
  const now = new Date();
  const keys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const owner_id = await insertUser(
    db,
    { email: 'owner@hostile.example', full_name: 'Owner', email_verified: true },
    now,
  );
  const workspace_id = await insertWorkspace(db, { name: 'Hostile', plan: config.DEFAULT_PLAN, owner_id }, now);
  const tokenOf = async (user_id: string) => {
    const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
    return (await insertCredential(db, keys, mine, now)).token;
  };
  const tokensOf = async (role: WorkspaceRole, count: number) => {
    const tokens: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const user_id = await insertUser(
        db,
        { email: `${role}${n}@hostile.example`, full_name: `${role} ${n}`, email_verified: true },
        now,
      );
      await insertMembership(db, { workspace_id, user_id, role }, now);
      tokens.push(await tokenOf(user_id));
    }
    return tokens;
  };
  const caller = { user_id: owner_id, email: 'owner@hostile.example' } as WorkspaceAccess['caller'];
  const access = issueProof<WorkspaceAccess>({ caller, workspace_id, plan: config.DEFAULT_PLAN, role: 'owner' });
  const app_ids: string[] = [];
  for (let n = 0; n < apps; n += 1) {
    const public_settings = n === 1 ? 'public_without_login' : 'public_with_login';
    const about = { app_type: 'user_app', user_description: '', visibility: 'workspace', public_settings } as const;
    app_ids.push((await insertApp(db, access, { ...about, name: `Hostile ${n}` }, now)).id);
  }
  const [first = ''] = app_ids;
  await insertRecords(db, first, 'Big', size.records, 'editor0@hostile.example');
  await insertCrowd(db, workspace_id, 'hostile', size.members);
  return {
    admins: [await tokenOf(owner_id), ...(await tokensOf('admin', admins - 1))],
    members: await tokensOf('editor', editors),
    appUsers: await insertAppUsers(db, keys, workspace_id, first, size.appUsers),
    apps: app_ids,
    largeRecords: await insertLargeRecords(db, first),
    agents: [],
    run: { workflow_id: '', run_id: '' },
    full: await seedFull(db, config, caller),
    unknownTokens: Array.from({ length: 1_000 }, () => mintToken('personal_token', config.CELL_CODE)),
    unknownIds: Array.from({ length: 1_000 }, () => crypto.randomUUID()),
    receiver,
  };
}

/** A workspace with a quota that it has used up. */
async function seedFull(db: Db, config: Config, caller: WorkspaceAccess['caller']): Promise<HostileWorkspace['full']> {
  const now = new Date();
  const keys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const owner_id = caller.user_id ?? '';
  const workspace_id = await insertWorkspace(db, { name: 'Full', plan: config.DEFAULT_PLAN, owner_id }, now);
  await db.updateTable('workspaces').set({ storage_quota_bytes: 1 }).where('id', '=', workspace_id).execute();
  const access = issueProof<WorkspaceAccess>({ caller, workspace_id, plan: config.DEFAULT_PLAN, role: 'owner' });
  const app = await insertApp(
    db,
    access,
    {
      app_type: 'user_app',
      user_description: '',
      visibility: 'workspace',
      public_settings: 'public_with_login',
      name: 'Full',
    },
    now,
  );
  const tokens: string[] = [];
  for (let n = 0; n < editors; n += 1) {
    const email = `full${n}@hostile.example`;
    const user_id = await insertUser(db, { email, full_name: `Full ${n}`, email_verified: true }, now);
    await insertMembership(db, { workspace_id, user_id, role: 'editor' }, now);
    const mine = { kind: 'personal_token', user_id, workspace_id, permission: 'full_access' } as const;
    tokens.push((await insertCredential(db, keys, mine, now)).token);
  }
  return { app_id: app.id, tokens };
}

/** Adds members with realistic names in one statement. */
async function insertCrowd(db: Db, workspace_id: string, name: string, count: number): Promise<void> {
  await sql`with people as (
      insert into users (id, email, full_name, created_date, updated_date)
      select gen_random_uuid(), md5(n::text) || '.' || n || '@' || ${name} || '.example', initcap(md5('n' || n)), now(), now()
      from generate_series(1, ${count}::int) n returning id)
    insert into memberships (workspace_id, user_id, role, created_date, updated_date)
    select ${workspace_id}, id, 'viewer', now(), now() from people`.execute(db);
}

async function insertRecords(db: Db, app_id: string, entity: string, count: number, created_by: string): Promise<void> {
  await sql`insert into entity_records
      (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
    select ${app_id}, gen_random_uuid(), ${entity}, jsonb_build_object('title', md5(n::text), 'state', 'open',
        'price', (n * 7919) % 100003, 'n', n, 'tags', jsonb_build_array(md5('t' || n % 1000), md5('u' || n % 77))),
      ${created_by}, '00000000-0000-7000-8000-000000000000',
      timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-01' + n * interval '1 ms'
    from generate_series(1, ${count}::int) n`.execute(db);
}

async function insertLargeRecords(db: Db, app_id: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`insert into entity_records
      (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
    select ${app_id}, gen_random_uuid(), 'Loose', jsonb_build_object('text', repeat('x', 250000)), 'editor0@hostile.example',
      '00000000-0000-7000-8000-000000000000', now(), now()
    from generate_series(1, 12) n returning id`.execute(db);
  return rows.map(({ id }) => id);
}

async function insertAppUsers(
  db: Db,
  keys: Parameters<typeof insertCredential>[1],
  workspace_id: string,
  app_id: string,
  count: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`insert into app_users
      (id, app_id, email, full_name, data, created_date, updated_date)
    select gen_random_uuid(), ${app_id}, 'user' || n || '@hostile.example', md5(n::text),
      jsonb_build_object('blob', repeat('x', 1000)), now(), now()
    from generate_series(1, ${count}::int) n returning id`.execute(db);
  const expires_at = new Date(Date.now() + 24 * 60 * 60 * 1000);
  const tokens: string[] = [];
  for (const { id } of rows.slice(0, knownAppUsers)) {
    const credential = {
      kind: 'app_user_token',
      user_id: null,
      app_user_id: id,
      workspace_id,
      permission: 'full_access',
      expires_at,
    } as const;
    tokens.push((await insertCredential(db, keys, credential, new Date())).token);
  }
  return tokens;
}
