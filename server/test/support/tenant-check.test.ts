// Tests the tenant check with statements that it must accept and statements that it must reject.
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate, readMigrations } from '../../src/kit/db/migrate.ts';
import { serverUrl } from './template.ts';
import { createTenantCheck } from './tenant-check.ts';

const admin = `${serverUrl}/postgres`;
const name = `tenant_check_${randomBytes(6).toString('hex')}`;
const migrations = fileURLToPath(new URL('../../migrations', import.meta.url));

let check: (text: string) => void;

beforeAll(async () => {
  await asAdmin(`create database ${name}`);
  const url = admin.replace(/postgres$/, name);
  await migrate(url, await readMigrations(migrations));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  check = await createTenantCheck(client).finally(() => client.end());
});

afterAll(() => asAdmin(`drop database if exists ${name} with (force)`));

async function asAdmin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

function messageOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

const lineage = (condition: string) => `
  with recursive up as (
    select id, parent_folder_id, 0 as level from folders where workspace_id = $1 and id = $2
    union all
    select parent.id, parent.parent_folder_id, up.level - 1 from folders parent
    join up on parent.id = up.parent_folder_id ${condition}
  )
  select id, level from up where level < 0`;

const passing: Record<string, string> = {
  'unqualified key': 'select * from folders where workspace_id = $1 and id = $2',
  'qualified key': 'select * from "folders" where "folders"."workspace_id" = $1',
  'schema-qualified table': 'select * from public.folders where folders.workspace_id = $1',
  'schema-qualified column': 'select * from public.folders where public.folders.workspace_id = $1',
  'key of an alias': 'select f.name from folders as f where f.workspace_id = $1',
  'value on the left': 'select * from folders where $1 = workspace_id',
  constant: "select * from folders where workspace_id = '0197a000-0000-7000-8000-000000000000'",
  'cast value': 'select * from folders where workspace_id = $1::uuid',
  'in a list': 'select * from app_shares where app_id in ($1, $2)',
  'any of an array': 'select * from folder_items where app_id = any($1::uuid[])',
  'in a bound sub-select':
    'select * from apps where workspace_id in (select workspace_id from memberships where user_id = $1)',
  'in a sub-select whose alias is the same':
    'select * from apps where apps.id in (select apps.id from apps where apps.workspace_id = $1)',
  'in a row': 'select * from folders where (workspace_id, id) = ($1, $2)',
  'in a list of rows': 'select * from folders where (workspace_id, id) in (($1, $2), ($1, $3))',
  'beside an or': 'select * from folders where workspace_id = $1 and (owner_id is null or owner_id = $2)',
  'in nested ands': 'select * from folders where (id = $1 and (workspace_id = $2 and scope = $3))',
  'join on the key':
    'select * from folders f join folder_items i on i.workspace_id = f.workspace_id and i.folder_id = f.id where f.workspace_id = $1',
  'join on the key, the other way':
    'select * from folders f join folder_items i on f.workspace_id = i.workspace_id where i.workspace_id = $1',
  'join, both in where':
    'select * from folders f, folder_items i where f.workspace_id = i.workspace_id and f.workspace_id = $1',
  'join using the key': 'select * from folders f join folder_items i using (workspace_id) where f.workspace_id = $1',
  'chain of joins':
    'select * from workspaces w join apps a on a.workspace_id = w.id join app_shares s on s.app_id = a.id where w.id = $1',
  'left join on the key':
    'select * from apps a left join app_shares s on s.app_id = a.id and s.user_id = $2 where a.id = $1',
  'left join on a value':
    'select * from users u left join memberships m on m.workspace_id = $1 and m.user_id = u.id where u.email = $2',
  'right join on the key': 'select * from app_shares s right join apps a on s.app_id = a.id where a.workspace_id = $1',
  'unqualified key of the only table that has it':
    'select users.email from memberships join users on users.id = memberships.user_id where workspace_id = $1',
  'memberships of one person': 'select workspace_id from memberships where user_id = $1',
  'memberships of a person found by email':
    'select m.role from users u join memberships m on m.user_id = u.id where u.email = $1',
  'an app by id': 'select * from apps where id = $1',
  'a workspace by id': 'update workspaces set name = $2 where id = $1',
  'a credential by hash': 'select * from credentials where hash = $1',
  'a credential by id':
    'update credentials set last_used_at = $1 where id = $2 and (last_used_at is null or last_used_at < $3)',
  'the view': 'select app_id from apps_in_folders where workspace_id = $1 and folder_id = $2',
  'correlated exists':
    'select * from apps where workspace_id = $1 and exists (select 1 from app_shares where app_shares.app_id = apps.id)',
  'correlated exists inside an or':
    'select * from apps where workspace_id = $1 and (visibility = $2 or exists (select 1 from app_shares s where s.app_id = apps.id))',
  'bound sub-select in the select list':
    'select f.*, (select count(*) from folder_items i where i.workspace_id = $1 and i.folder_id = f.id) as n from folders f where f.workspace_id = $1',
  'bound sub-select in from':
    'select * from folder_items i join (select id from apps where workspace_id = $1) app on app.id = i.app_id where i.workspace_id = $1',
  'bound by a bound sub-select':
    'select * from (select id from apps where workspace_id = $1) a join app_shares s on s.app_id = a.id',
  'lateral sub-select':
    'select * from apps a, lateral (select role from app_shares s where s.app_id = a.id limit 1) x where a.id = $1',
  'unnested ids': 'select * from unnest($1::uuid[]) as t(id) join apps on apps.id = t.id',
  cte: 'with mine as (select * from folders where workspace_id = $1) select * from mine',
  'cte named as a table': 'with folders as (select * from folders where workspace_id = $1) select * from folders',
  'recursive cte': lineage('where parent.workspace_id = $1'),
  union: 'select id from folders where workspace_id = $1 union all select id from apps where workspace_id = $1',
  update: 'update folders set name = $1 where workspace_id = $2 and id = $3',
  'update from':
    'update folders f set position = v.position from (values ($1::uuid, 1)) v(id, position) where f.id = v.id and f.workspace_id = $2',
  delete: 'delete from folder_items where workspace_id = $1 and app_id in ($2) and owner_id is null',
  'delete using':
    'delete from folder_items i using folders f where f.workspace_id = $1 and i.workspace_id = f.workspace_id',
  'changing cte':
    'with gone as (delete from folder_items where workspace_id = $1 returning app_id) select app_id from gone',
  insert: 'insert into folders (workspace_id, id) values ($1, $2) returning *',
  upsert:
    'insert into app_shares (app_id, user_id) values ($1, $2) on conflict (app_id, user_id) do update set role = excluded.role',
  'insert from a bound select':
    'insert into folder_items (workspace_id, app_id) select workspace_id, id from apps where workspace_id = $1',
  lookup: '/* lookup */ select * from credentials c left join folders r on r.id = $2 where c.hash = $1',
  'no tenant table': 'select * from users where is_operator',
  'other tables of the installation': 'delete from idempotency_keys where created_date < $1',
  'the migrations': 'select name, checksum from migrations',
  'another schema': 'select * from other.apps join other.workspaces on true',
  catalogue: 'select relname from pg_catalog.pg_class join information_schema.tables on true',
  'advisory lock': 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
  begin: 'begin',
  'transaction mode': 'start transaction isolation level serializable',
  commit: 'commit',
  set: "set local lock_timeout = '5s'",
  ddl: 'create view v as select * from folders; alter table folders add column x int; drop table folders',
  'comment only': '-- nothing',
  'an explained query': 'explain analyze select * from folders where workspace_id = $1',
};

/** Each statement, with the table and key that the message must name. */
const refused: Record<string, readonly [text: string, table: string, key?: string]> = {
  'no where': ['select * from folders', 'folders'],
  'by global id': ['select * from folders where id = $1', 'folders'],
  'key not compared': ['select workspace_id from folders order by workspace_id', 'folders'],
  'key unequal': ['select * from folders where workspace_id <> $1', 'folders'],
  'key not in': ['select * from folders where workspace_id not in ($1)', 'folders'],
  'key not in a sub-select': [
    'select * from folders where workspace_id not in (select workspace_id from memberships where user_id = $1)',
    'folders',
  ],
  'key within all': ['select * from folders where workspace_id = all($1)', 'folders'],
  'key not null': ['select * from folders where workspace_id is not null', 'folders'],
  'key negated': ['select * from folders where not (workspace_id = $1)', 'folders'],
  'key equal to itself': ['select * from folders where workspace_id = workspace_id', 'folders'],
  'key equal to itself by default': [
    'select * from folders where workspace_id = coalesce($1, workspace_id)',
    'folders',
  ],
  'key inside an or': ['select * from folders where workspace_id = $1 or owner_id = $2', 'folders'],
  'key inside a nested or': ['select * from folders where id = $1 and (workspace_id = $2 or true)', 'folders'],
  'key in having': [
    'select workspace_id, count(*) from folders group by workspace_id having workspace_id = $1',
    'folders',
  ],
  'key of another alias': [
    'select * from folders f join folder_items i on i.folder_id = f.id where f.workspace_id = $1',
    'folder_items (as i)',
    'workspace_id or app_id',
  ],
  'two tables bound by each other': [
    'select * from folders f join folder_items i on i.workspace_id = f.workspace_id',
    'folders (as f)',
  ],
  'the same table twice': [
    'select * from folders a join folders b on b.parent_folder_id = a.id where a.workspace_id = $1',
    'folders (as b)',
  ],
  'renamed columns': ['select * from folders f(id, workspace_id) where f.workspace_id = $1', 'folders (as f)'],
  'comma join': ['select * from folders f, apps a where f.workspace_id = $1', 'apps (as a)', 'workspace_id or id'],
  'left join without key': [
    'select * from folders f left join folder_items i on i.folder_id = f.id where f.workspace_id = $1',
    'folder_items (as i)',
    'workspace_id or app_id',
  ],
  'left join, key of the kept side': [
    'select * from folders f left join users u on u.id = f.owner_id and f.workspace_id = $1',
    'folders (as f)',
  ],
  'left join using, kept side': [
    'select * from folders f left join folder_items i using (workspace_id) where i.workspace_id = $1 or true',
    'folders (as f)',
  ],
  'full join': ['select * from folders f full join users u on f.workspace_id = $1', 'folders (as f)'],
  'sub-select in a guarded query': [
    'select * from apps where workspace_id = $1 and id in (select app_id from folder_items where folder_id = $2)',
    'folder_items',
    'workspace_id or app_id',
  ],
  'sub-select in the select list': [
    'select f.name, (select count(*) from folder_items i where i.folder_id = f.id) from folders f where f.workspace_id = $1',
    'folder_items (as i)',
    'workspace_id or app_id',
  ],
  'sub-select in from': ['select * from (select * from folders) f where f.workspace_id = $1', 'folders'],
  'sub-select that is bound by what it binds': [
    'select * from folders f where f.workspace_id in (select i.workspace_id from folder_items i where i.workspace_id = f.workspace_id)',
    'folders (as f)',
  ],
  'key of the outer query only': [
    'select * from apps a where a.workspace_id = $1 and exists (select 1 from folders f where a.workspace_id = $1)',
    'folders (as f)',
  ],
  'correlated exists without key': [
    'select * from apps a where a.workspace_id = $1 and exists (select 1 from app_shares s where s.user_id = a.owner_id)',
    'app_shares (as s)',
    'workspace_id or app_id',
  ],
  cte: ['with every as (select * from folders) select * from every where workspace_id = $1', 'folders'],
  'table beside a cte': [
    'with mine as (select id from folders where workspace_id = $1) select * from folder_items i join mine on mine.id = i.folder_id',
    'folder_items (as i)',
    'workspace_id or app_id',
  ],
  'cte named as a table, read before it is': [
    'with folders as (select * from folders) select * from folders where workspace_id = $1',
    'folders',
  ],
  'recursive cte': [lineage(''), 'folders (as parent)'],
  'one arm of a union': [
    'select id from folders where workspace_id = $1 union all select id from apps',
    'apps',
    'workspace_id or id',
  ],
  'order by a sub-select': [
    'select * from users order by (select count(*) from folders where owner_id = users.id)',
    'folders',
  ],
  update: ['update folders set workspace_id = $1', 'folders'],
  'update by id': ['update folders set name = $1 where id = $2', 'folders'],
  'update from': ['update users u set full_name = f.name from folders f where f.owner_id = u.id', 'folders (as f)'],
  delete: ['delete from folder_items', 'folder_items', 'workspace_id or app_id'],
  'delete by id': ['delete from folders where id = $1', 'folders'],
  'delete in a cte': ['with gone as (delete from folders where id = $1 returning id) select id from gone', 'folders'],
  'delete using': [
    'delete from folder_items i using folders f where i.folder_id = f.id and f.workspace_id = $1',
    'folder_items (as i)',
    'workspace_id or app_id',
  ],
  view: ['select app_id from apps_in_folders where folder_id = $1', 'apps_in_folders', 'workspace_id or app_id'],
  'public schema': ['select * from public.folders', 'folders'],
  workspaces: ["select * from workspaces where plan = 'free'", 'workspaces', 'id'],
  apps: ['select * from apps where slug = $1', 'apps', 'workspace_id or id'],
  memberships: ["select * from memberships where role = 'owner'", 'memberships', 'workspace_id or user_id'],
  'memberships of many people': [
    'select * from memberships join users on users.id = memberships.user_id where users.is_operator',
    'memberships',
    'workspace_id or user_id',
  ],
  credentials: [
    'update credentials set revoked_at = $1 where expires_at < $1',
    'credentials',
    'workspace_id or user_id or id or hash',
  ],
  'insert from a select': [
    'insert into folder_items (workspace_id, app_id) select workspace_id, id from apps where owner_id = $1',
    'apps',
    'workspace_id or id',
  ],
  'sub-select in values': ['insert into users (id) values ((select owner_id from folders limit 1))', 'folders'],
  'sub-select in an upsert': [
    'insert into users (id) values ($1) on conflict (id) do update set full_name = (select name from folders limit 1)',
    'folders',
  ],
  merge: [
    'merge into folders f using users u on f.workspace_id = $1 and f.owner_id = u.id when matched then delete',
    'folders (as f)',
  ],
  truncate: ['truncate folders', 'folders'],
  'copy out': ['copy folders to stdout', 'folders'],
  'copy of a query': ['copy (select * from folders) to stdout', 'folders'],
  cursor: ['declare c cursor for select * from folders', 'folders'],
  'explained query': ['explain select * from folders', 'folders'],
  'second statement': ['select 1; select * from folders', 'folders'],
  'lookup not at the start': ['select /* lookup */ * from folders', 'folders'],
};

describe('the tenant check', () => {
  test.each(Object.entries(passing))('passes: %s', (_, text) => {
    expect(() => check(text)).not.toThrow();
  });

  test.each(Object.entries(refused))('refuses: %s', (_, [text, table, key = 'workspace_id']) => {
    expect(() => check(text)).toThrow(`tenant check: ${table} has no predicate on its tenant key ${key}: `);
  });

  test('refuses what it cannot parse', () => {
    expect(() => check('selec 1')).toThrow('tenant check: cannot be parsed (syntax error at or near "selec"): selec 1');
  });

  test('refuses a statement each time it is sent, and shows 300 characters of it', () => {
    const text = `select * from folders where name = '${'x'.repeat(400)}'`;
    const shown = /workspace_id: (.*)$/;
    for (const _ of [1, 2]) expect(() => check(text)).toThrow(shown);
    expect(messageOf(() => check(text)).match(shown)?.[1]).toBe(text.slice(0, 300));
  });
});
