// Owns the people of the demo: 250 members and invitees of every role and state, what they own and share, and 60 days
// of what they spent. Written in bulk, and by rule instead of by chance, so that every demo shows the same.
import { randomBytes } from 'node:crypto';
import type { Insertable } from 'kysely';
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
const invitationCount = 35; // with the owner: 250 people
const dayMs = 24 * 60 * 60 * 1000;

type Role = 'admin' | 'editor' | 'viewer' | 'guest';

/** Of every 20 people: one admin, nine editors, six viewers, four guests. */
const roleOf = (i: number): Role =>
  i % 20 === 0 ? 'admin' : i % 20 < 10 ? 'editor' : i % 20 < 16 ? 'viewer' : 'guest';
const maySpend = (i: number) => roleOf(i) === 'admin' || roleOf(i) === 'editor';

const nameOf = (i: number) => `${firstNames[i % firstNames.length]} ${lastNames[i % lastNames.length]}`;
const emailOf = (i: number) =>
  `${nameOf(i).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(' ', '.')}.${i}@demo.example`;

export async function insertDemoPeople(db: Db, place: DemoWorkspace, now: Date): Promise<void> {
  const ago = (days: number) => new Date(now.getTime() - days * dayMs);
  const people = Array.from({ length: memberCount }, (_, i) => ({ i, id: newId(), role: roleOf(i) }));
  const apps = appsOf(people, place, ago);
  const invitations = invitationsOf(place, ago);
  await db.insertInto('users').values(usersOf(people, ago)).execute();
  await db
    .insertInto('memberships')
    .values(membershipsOf(people, place, ago))
    .execute();
  await db.insertInto('apps').values(apps).execute();
  await db
    .insertInto('app_shares')
    .values(sharesOf(people, apps, place, ago))
    .execute();
  await db.insertInto('invitations').values(invitations).execute();
  await db
    .insertInto('invitation_shares')
    .values(invitedSharesOf(invitations, apps, place, now))
    .execute();
  await db
    .insertInto('credentials')
    .values(tokensOf(people, place, ago))
    .execute();
  const ledger = ledgerOf(people, apps, place, ago);
  await db.insertInto('credit_ledger').values(ledger).execute();
  await db
    .insertInto('credit_pools')
    .values(poolsOf(ledger))
    // This month's is there already where the demo's agent has answered.
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

const usersOf = (people: People, ago: DaysAgo): Rows<'users'> =>
  people.map(({ i, id }) => ({
    id,
    email: emailOf(i),
    full_name: i % 23 === 22 ? '' : nameOf(i),
    created_date: ago(400 - i),
    updated_date: ago(400 - i),
  }));

/** Every seventeenth is blocked; every fifth of those who spend has a limit of their own. */
const membershipsOf = (people: People, { workspace_id }: DemoWorkspace, ago: DaysAgo): Rows<'memberships'> =>
  people.map(({ i, id, role }) => ({
    workspace_id,
    user_id: id,
    role,
    access_state: i % 17 === 16 ? 'blocked' : 'active',
    assigned_via: role === 'guest' ? 'app_share' : 'direct',
    credit_limit: maySpend(i) && i % 5 === 3 ? 10 + i : null,
    created_date: ago(390 - i),
    updated_date: ago(i % 90),
  }));

/** Some who may make apps own up to three, every other one an agent too. */
function appsOf(people: People, { workspace_id }: DemoWorkspace, ago: DaysAgo): Rows<'apps'> {
  const makers = people.filter(({ i }) => maySpend(i) && i % 4 === 1);
  return makers.flatMap(({ i, id }) =>
    Array.from({ length: 1 + (i % 3) }, (_, n) => {
      const app_type = n === 0 && i % 8 === 1 ? ('user_agent' as const) : ('user_app' as const);
      const kind = app_type === 'user_agent' ? 'Assistant' : ['Tracker', 'Portal', 'Board'][n];
      return {
        id: newId(),
        workspace_id,
        app_type,
        owner_id: id,
        name: `${nameOf(i).split(' ')[0]}’s ${kind}`,
        slug: `demo-${i}-${n}-${workspace_id.slice(-6)}`,
        visibility: (i + n) % 3 === 0 ? ('private' as const) : ('workspace' as const),
        public_settings: 'public_with_login' as const,
        created_date: ago(120 - (i % 100)),
        updated_date: ago(i % 30),
      };
    }),
  );
}

/** Each guest is there by one or two shares; some editors and viewers have one beside. */
const sharesOf = (
  people: People,
  apps: Rows<'apps'>,
  { workspace_id }: DemoWorkspace,
  ago: DaysAgo,
): Rows<'app_shares'> =>
  people
    .filter(({ i, role }) => role === 'guest' || i % 6 === 2)
    .flatMap(({ i, id, role }) =>
      [i, i + 1]
        .slice(0, 1 + (i % 2))
        .map((n) => apps[n % apps.length] as Rows<'apps'>[number])
        .filter(({ owner_id }) => owner_id !== id)
        .map((app) => ({
          app_id: app.id,
          user_id: id,
          workspace_id,
          role: role === 'viewer' || i % 3 === 0 ? ('viewer' as const) : ('editor' as const),
          created_date: ago(i % 60),
        })),
    );

/** Three in seven have expired. Nobody knows these links: their hashes are of nothing. */
const invitationsOf = ({ workspace_id, owner_id }: DemoWorkspace, ago: DaysAgo): Rows<'invitations'> =>
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
      created_date: ago(age),
      expires_at: ago(age - 60),
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
      app_id: (apps[n % apps.length] as Rows<'apps'>[number]).id,
      role: 'viewer',
      created_date,
    }));

/** Two in three were seen in the last fifty days, by a token whose text nobody knows. */
const tokensOf = (people: People, { workspace_id }: DemoWorkspace, ago: DaysAgo): Rows<'credentials'> =>
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
      created_date: ago(100),
      last_used_at: ago((i * 7) % 50),
    }));

/** Sixty days of use by two thirds of those who spend, on two days in five; one use in forty was refunded. */
function ledgerOf(
  people: People,
  apps: Rows<'apps'>,
  { workspace_id }: DemoWorkspace,
  ago: DaysAgo,
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
          app_id: (apps[(i + day) % apps.length] as Rows<'apps'>[number]).id,
          operation: 'sendAgentMessage',
          created_date: ago(day + 0.1),
          period_start: monthOf(ago(day + 0.1)),
        };
        const refund = { ...use, id: newId(), kind: 'refund' as const, created_date: ago(day + 0.05) };
        return (i + day) % 40 === 0 ? [use, refund] : [use];
      }),
  );
}

const monthOf = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));

type Ledger = Rows<'credit_ledger'>;
const monthIn = (row: Ledger[number]): string => (row.period_start as Date).toISOString();
const usedIn = (rows: Ledger): number =>
  rows.reduce((sum, { kind, amount }) => sum + (kind === 'use' ? amount : -amount), 0);

/** The sums that are kept beside the ledger: without them the demo would be told that its credits do not add up. */
const poolsOf = (ledger: Ledger): Rows<'credit_pools'> =>
  [...Map.groupBy(ledger, monthIn)].map(([month, rows]) => ({
    workspace_id: (rows[0] as Ledger[number]).workspace_id,
    period_start: new Date(month),
    monthly_limit: null,
    used: usedIn(rows),
  }));

const usesOf = (ledger: Ledger): Rows<'credit_use'> =>
  [...Map.groupBy(ledger, (row) => `${monthIn(row)} ${row.user_id}`).values()].map((rows) => {
    const { workspace_id, period_start, user_id } = rows[0] as Ledger[number];
    return {
      workspace_id,
      period_start: period_start as Date,
      user_id: user_id as string,
      used: usedIn(rows),
      reserved: 0,
    };
  });
