// The demo's people: 250 members and invitations with every role and state, their apps and shares, and 60 days of
// credit use. Rows are inserted in bulk. They are derived from a number instead of being random, so every demo looks
// the same.
import { randomBytes } from 'node:crypto';
import type { Insertable } from 'kysely';
import { insertMissingRevisions } from '../../core/identity/revisions.ts';
import { newId } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';

type Rows<Table extends keyof Tables> = Insertable<Tables[Table]>[];

export interface DemoWorkspace {
  readonly workspace_id: string;
  readonly owner_id: string;
}

const firstNames = [
  'Ada',
  'Ben',
  'Chloé',
  'Dara',
  'Emil',
  'Fatou',
  'Goro',
  'Hana',
  'Ines',
  'Jonas',
  'Kira',
  'Liam',
  'Mina',
];
const lastNames = ['Abt', 'Berg', 'Costa', 'Diaz', 'Eze', 'Fink', 'Graf', 'Holm', 'Ito', 'Juul', 'Koch'];
const memberCount = 214;
const invitationCount = 35; // 250 people, including the owner
const dayMs = 24 * 60 * 60 * 1000;

type Role = 'admin' | 'editor' | 'viewer' | 'guest';

/** One admin, nine editors, six viewers and four guests per 20 people. */
const roleOf = (i: number): Role =>
  i % 20 === 0 ? 'admin' : i % 20 < 10 ? 'editor' : i % 20 < 16 ? 'viewer' : 'guest';
const maySpend = (i: number) => roleOf(i) === 'admin' || roleOf(i) === 'editor';

const nameOf = (i: number) => `${firstNames[i % firstNames.length]} ${lastNames[i % lastNames.length]}`;
const emailOf = (i: number) =>
  `${nameOf(i).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(' ', '.')}.${i}@demo.example`;

export async function insertDemoPeople(db: Db, workspace: DemoWorkspace, now: Date): Promise<void> {
  const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs);
  const people = Array.from({ length: memberCount }, (_, i) => ({ i, id: newId(), role: roleOf(i) }));
  const apps = appsOf(people, workspace, daysAgo);
  const invitations = invitationsOf(workspace, daysAgo);
  await db.insertInto('users').values(usersOf(people, daysAgo)).execute();
  await db
    .insertInto('memberships')
    .values(membershipsOf(people, workspace, daysAgo))
    .execute();
  await db.insertInto('apps').values(apps).execute();
  await insertMissingRevisions(db, workspace.workspace_id);
  await db
    .insertInto('app_shares')
    .values(sharesOf(people, apps, workspace, daysAgo))
    .execute();
  await db.insertInto('invitations').values(invitations).execute();
  await db
    .insertInto('invitation_shares')
    .values(invitedSharesOf(invitations, apps, workspace, now))
    .execute();
  await db
    .insertInto('credentials')
    .values(tokensOf(people, workspace, daysAgo))
    .execute();
  const ledger = ledgerOf(people, apps, workspace, daysAgo);
  await db.insertInto('credit_ledger').values(ledger).execute();
  await db
    .insertInto('credit_pools')
    .values(poolsOf(ledger))
    // This month's pool already exists if the demo's agent has replied.
    .onConflict((pool) =>
      pool
        .columns(['workspace_id', 'period_start'])
        .doUpdateSet(({ eb, ref }) => ({ used: eb('credit_pools.used', '+', ref('excluded.used')) })),
    )
    .execute();
  await db.insertInto('credit_use').values(usesOf(ledger)).execute();
}

type DaysAgo = (days: number) => Date;
type People = readonly { readonly i: number; readonly id: string; readonly role: Role }[];

const usersOf = (people: People, daysAgo: DaysAgo): Rows<'users'> =>
  people.map(({ i, id }) => ({
    id,
    email: emailOf(i),
    full_name: i % 23 === 22 ? '' : nameOf(i),
    created_date: daysAgo(400 - i),
    updated_date: daysAgo(400 - i),
  }));

/** Every 17th member is blocked. A fifth of the members who may spend have their own limit. */
const membershipsOf = (people: People, { workspace_id }: DemoWorkspace, daysAgo: DaysAgo): Rows<'memberships'> =>
  people.map(({ i, id, role }) => ({
    workspace_id,
    user_id: id,
    role,
    access_state: i % 17 === 16 ? 'blocked' : 'active',
    assigned_via: role === 'guest' ? 'app_share' : 'direct',
    credit_limit: maySpend(i) && i % 5 === 3 ? 10 + i : null,
    created_date: daysAgo(390 - i),
    updated_date: daysAgo(i % 90),
  }));

/** A quarter of the members who may create apps own one to three apps. Half of these owners have an agent. */
function appsOf(people: People, { workspace_id }: DemoWorkspace, daysAgo: DaysAgo): Rows<'apps'> {
  const owners = people.filter(({ i }) => maySpend(i) && i % 4 === 1);
  return owners.flatMap(({ i, id }) =>
    Array.from({ length: 1 + (i % 3) }, (_, n) => {
      const app_type = n === 0 && i % 8 === 1 ? ('user_agent' as const) : ('user_app' as const);
      const kind = app_type === 'user_agent' ? 'Assistant' : ['Tracker', 'Portal', 'Board'][n];
      return {
        id: newId(),
        workspace_id,
        app_type,
        owner_id: id,
        name: `${nameOf(i).split(' ')[0]}'s ${kind}`,
        slug: `demo-${i}-${n}-${workspace_id.slice(-6)}`,
        visibility: (i + n) % 3 === 0 ? ('private' as const) : ('workspace' as const),
        public_settings: 'public_with_login' as const,
        created_date: daysAgo(120 - (i % 100)),
        updated_date: daysAgo(i % 30),
      };
    }),
  );
}

/** Any number selects an app. There must be at least one app. */
const pickApp = (apps: Rows<'apps'>, n: number) => apps[n % apps.length] as Rows<'apps'>[number];

/** Every guest has one or two shares. Some members have shares too. */
const sharesOf = (
  people: People,
  apps: Rows<'apps'>,
  { workspace_id }: DemoWorkspace,
  daysAgo: DaysAgo,
): Rows<'app_shares'> =>
  people
    .filter(({ i, role }) => role === 'guest' || i % 6 === 2)
    .flatMap(({ i, id, role }) =>
      [i, i + 1]
        .slice(0, 1 + (i % 2))
        .map((n) => pickApp(apps, n))
        .filter(({ owner_id }) => owner_id !== id)
        .map((app) => ({
          app_id: app.id,
          user_id: id,
          workspace_id,
          role: role === 'viewer' || i % 3 === 0 ? ('viewer' as const) : ('editor' as const),
          created_date: daysAgo(i % 60),
        })),
    );

/** Three in seven invitations have expired. The hashes are random, so none of the links work. */
const invitationsOf = ({ workspace_id, owner_id }: DemoWorkspace, daysAgo: DaysAgo): Rows<'invitations'> =>
  Array.from({ length: invitationCount }, (_, n) => {
    const role = (['editor', 'viewer', 'guest', 'editor', 'admin'] as const)[n % 5] ?? 'editor';
    const age = n % 7 < 3 ? 61 + n : n + 1;
    return {
      workspace_id,
      id: newId(),
      email: `invited.${emailOf(memberCount + n)}`,
      role,
      assigned_via: role === 'guest' ? 'app_share' : 'direct',
      hash: randomBytes(32),
      pepper_id: 'demo',
      invited_by: owner_id,
      created_date: daysAgo(age),
      expires_at: daysAgo(age - 60),
    };
  });

const invitedSharesOf = (
  invitations: Rows<'invitations'>,
  apps: Rows<'apps'>,
  { workspace_id }: DemoWorkspace,
  created_date: Date,
): Rows<'invitation_shares'> =>
  invitations
    .filter(({ role }) => role === 'guest')
    .map(({ id }, n) => ({
      workspace_id,
      invitation_id: id,
      app_id: pickApp(apps, n).id,
      role: 'viewer',
      created_date,
    }));

/** Two in three members have been active in the last 50 days. The hashes are random, so none of the tokens work. */
const tokensOf = (people: People, { workspace_id }: DemoWorkspace, daysAgo: DaysAgo): Rows<'credentials'> =>
  people
    .filter(({ i }) => i % 3 !== 0)
    .map(({ i, id }) => ({
      id: newId(),
      kind: 'personal_token',
      hash: randomBytes(32),
      pepper_id: 'demo',
      last4: '0000',
      name: 'Laptop',
      user_id: id,
      workspace_id,
      permission: 'read_only',
      created_date: daysAgo(100),
      last_used_at: daysAgo((i * 7) % 50),
    }));

/**
 * Two thirds of the members who may spend have used credits on two days in five for 60 days. One use in 40 was
 * refunded.
 */
function ledgerOf(
  people: People,
  apps: Rows<'apps'>,
  { workspace_id }: DemoWorkspace,
  daysAgo: DaysAgo,
): Rows<'credit_ledger'> {
  const spenders = people.filter(({ i }) => maySpend(i) && i % 3 !== 2);
  return spenders.flatMap(({ i, id }) =>
    Array.from({ length: 60 }, (_, day) => day)
      .filter((day) => (i * 7 + day * 3) % 5 < 2)
      .flatMap((day) => {
        const use = {
          workspace_id,
          id: newId(),
          kind: 'use' as const,
          amount: (1 + ((i + day) % 9)) / 2,
          user_id: id,
          app_id: pickApp(apps, i + day).id,
          operation: 'sendAgentMessage',
          created_date: daysAgo(day + 0.1),
          period_start: startOfMonth(daysAgo(day + 0.1)),
        };
        const refund = { ...use, id: newId(), kind: 'refund' as const, created_date: daysAgo(day + 0.05) };
        return (i + day) % 40 === 0 ? [use, refund] : [use];
      }),
  );
}

const startOfMonth = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));

type Ledger = Rows<'credit_ledger'>;
const monthKeyOf = (row: Ledger[number]): string => (row.period_start as Date).toISOString();
const sumUsed = (rows: Ledger): number =>
  rows.reduce((sum, { kind, amount }) => sum + (kind === 'use' ? amount : -amount), 0);

/** Pools must match the ledger. Otherwise the daily reconciliation reports a mismatch. */
const poolsOf = (ledger: Ledger): Rows<'credit_pools'> =>
  [...Map.groupBy(ledger, monthKeyOf)].map(([month, rows]) => ({
    workspace_id: (rows[0] as Ledger[number]).workspace_id,
    period_start: new Date(month),
    monthly_limit: null,
    used: sumUsed(rows),
  }));

const usesOf = (ledger: Ledger): Rows<'credit_use'> =>
  [...Map.groupBy(ledger, (row) => `${monthKeyOf(row)} ${row.user_id}`).values()].map((rows) => {
    const { workspace_id, period_start, user_id } = rows[0] as Ledger[number];
    return {
      workspace_id,
      period_start: period_start as Date,
      user_id: user_id as string,
      used: sumUsed(rows),
      reserved: 0,
    };
  });
