// Owns the HTTP contract of records.
import { z } from 'zod';
import { appData, appDataWith } from '../../../core/auth/app-data-guard.ts';
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { type Limit, perMinute } from '../../../core/auth/limits.ts';
import { appAs, type Guard, nestedResource } from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import type { EventWriter } from '../../../events.ts';
import { type Cursors, cursorRefusal } from '../../../kit/http/cursor.ts';
import { items, Success } from '../../../kit/http/shapes.ts';
import {
  CountRecordsQuery,
  DeleteRecordsBody,
  EntityRecord,
  ListRecordsQuery,
  NewRecords,
  RecordBody,
  RecordChanges,
  RecordCount,
  RecordsDeleted,
  RecordsUpserted,
  UpsertBody,
} from '../contract.ts';
import type { FindEntity } from '../schemas/schema-cache.ts';
import type { AppScope } from '../schemas/store.ts';
import { deleteRecords, upsertRecords } from './bulk.ts';
import { createRecord, createRecords } from './create.ts';
import { countRecords, getRecord, listRecords } from './list.ts';
import type { PrefetchedRecord } from './store/records.ts';
import { deleteRecord, purgeRecord, restoreRecord } from './trash.ts';
import { updateRecord, updateRecords } from './update.ts';

export interface RecordDeps {
  readonly cursors: Cursors;
  readonly events: EventWriter;
  readonly findEntity: FindEntity;
}

const perCallerAndApp = (quota: number, windowSeconds = 60): Limit => ({
  ...perMinute(quota, 'caller+app'),
  windowSeconds,
});
const listLimit = perMinute(100, 'caller+app', { group: 'entread' });
const readCredentialsOfApp = { ...readCredentials, appUser: true } as const;
const writeCredentialsOfApp = { ...writeCredentials, appUser: true } as const;
const audits = { sometimes: ['record.user_entity_written'] } as const;
const bulkBytes = 10 * 1024 * 1024;

const recordMissing = { status: 404, code: 'record_not_found' } as const;
const ruleDenied = { status: 403, code: 'rule_denied' } as const;
const fieldRuleDenied = { status: 403, code: 'field_rule_denied' } as const;
const uniqueConflict = { status: 409, code: 'unique_conflict' } as const;

/** A record that comes with the look-up: one statement less for what begins by reading it. */
const recordGuard = () => appDataWith<'record', PrefetchedRecord>('record', 'entity_records', 'entity_id');

/** The entity that the path names. Who works with `User` is told, whatever the answer, that it is not the app's users. */
function entityGuard<Proof extends AppScope>(guard: Guard<Proof>, find: FindEntity) {
  const inner = nestedResource(guard, 'entity', find, 'entity_name');
  const warned: typeof inner = {
    ...inner,
    loadNested: (db, proof, exchange) => {
      if (exchange.params.entity_name === 'User') exchange.reply.header('x-warning', 'user_entity_disconnected');
      return (inner.loadNested as NonNullable<typeof inner.loadNested>)(db, proof, exchange);
    },
  };
  return warned;
}

export const recordRoutes = (deps: RecordDeps): Route[] => [
  ...readRoutes(deps),
  ...writeRoutes(deps),
  ...removalRoutes(deps),
];

const readRoutes = ({ cursors, findEntity: find }: RecordDeps): Route[] => [
  route({
    name: 'listRecords',
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'List the records of an entity that the caller may read, newest first',
    description:
      '`q` is a filter as JSON; any other parameter is a field and the value it must have. A cursor carries filter, order and fields. A page ends early where its data would be more than 8 MiB.',
    credentials: readCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: listLimit,
    query: ListRecordsQuery,
    answers: { 200: items(EntityRecord) },
    refusals: [cursorRefusal],
    handle: ({ db, access, query, now }) => listRecords(db, access, cursors, query, now),
  }),
  route({
    name: 'countRecords',
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}/count',
    summary: 'Count the records that the caller may read',
    credentials: readCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: listLimit,
    query: CountRecordsQuery,
    answers: { 200: RecordCount },
    handle: ({ db, access, query }) => countRecords(db, access, query),
  }),
  route({
    name: 'getRecord',
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Read one record',
    credentials: readCredentialsOfApp,
    access: entityGuard(recordGuard(), find),
    limit: perCallerAndApp(300),
    answers: { 200: EntityRecord },
    refusals: [recordMissing],
    handle: ({ db, access, params }) => getRecord(db, access, params.entity_id),
  }),
];

const writeRoutes = ({ events, findEntity: find }: RecordDeps): Route[] => [
  route({
    name: 'createRecord',
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'Create a record',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(100),
    idempotency: 'optional',
    body: RecordBody,
    audits,
    answers: { 200: EntityRecord },
    refusals: [ruleDenied, fieldRuleDenied, uniqueConflict],
    handle: ({ db, access, body, now }) => createRecord(db, events, access, body, now),
  }),
  route({
    name: 'createRecords',
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/bulk',
    summary: 'Create up to 500 records, all or nothing',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(30),
    idempotency: 'optional',
    body: NewRecords,
    bodyLimitBytes: bulkBytes,
    audits,
    answers: { 200: z.array(EntityRecord) },
    refusals: [ruleDenied, fieldRuleDenied, uniqueConflict],
    handle: ({ db, access, body, now }) => createRecords(db, events, access, body, now),
  }),
  route({
    name: 'updateRecord',
    method: 'PUT',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Merge the sent fields into one record',
    description:
      'A field left out keeps its value, null clears one. Names that the schema does not declare, and automatic ones, are dropped and named in `X-Ignored-Fields`.',
    credentials: writeCredentialsOfApp,
    access: entityGuard(recordGuard(), find),
    limit: perCallerAndApp(100),
    body: RecordBody,
    audits,
    answers: { 200: EntityRecord },
    refusals: [recordMissing, ruleDenied, fieldRuleDenied, uniqueConflict],
    handle: ({ db, access, params, body, now }) => updateRecord(db, events, access, params.entity_id, body, now),
  }),
  route({
    name: 'updateRecords',
    method: 'PUT',
    path: '/api/apps/{app_id}/entities/{entity_name}/bulk',
    summary: 'Merge fields into up to 500 records, all or nothing',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(30),
    body: RecordChanges,
    bodyLimitBytes: bulkBytes,
    audits,
    answers: { 200: z.array(EntityRecord) },
    refusals: [recordMissing, ruleDenied, fieldRuleDenied, uniqueConflict],
    handle: ({ db, access, body, now }) => updateRecords(db, events, access, body, now),
  }),
  route({
    name: 'upsertRecords',
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/upsert',
    summary: 'Update the records that have the sent keys, and create the others; all or nothing',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(30),
    idempotency: 'optional',
    body: UpsertBody,
    bodyLimitBytes: bulkBytes,
    audits,
    answers: { 200: RecordsUpserted },
    refusals: [ruleDenied, fieldRuleDenied, uniqueConflict, { status: 409, code: 'upsert_key_ambiguous' }],
    handle: ({ db, access, body, now }) => upsertRecords(db, events, access, body, now),
  }),
];

const removalRoutes = ({ events, findEntity: find }: RecordDeps): Route[] => [
  route({
    name: 'deleteRecord',
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Put a record in the trash; builders can restore it for 30 days',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(100, 30),
    audits,
    answers: { 200: Success },
    refusals: [recordMissing, ruleDenied],
    handle: ({ db, access, params, now }) => deleteRecord(db, events, access, params.entity_id, now),
  }),
  route({
    name: 'deleteRecords',
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'Put the records that a query finds in the trash, up to 5,000',
    description: 'Only records that the delete rule covers. `X-Truncated` says that there are more.',
    credentials: writeCredentialsOfApp,
    access: entityGuard(appData(), find),
    limit: perCallerAndApp(10),
    body: DeleteRecordsBody,
    audits,
    answers: { 200: RecordsDeleted },
    refusals: [ruleDenied],
    handle: ({ db, access, body, now }) => deleteRecords(db, events, access, body, now),
  }),
  route({
    name: 'restoreRecord',
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}/restore',
    summary: 'Fetch a record back from the trash; rules do not apply',
    credentials: writeCredentials,
    access: entityGuard(appAs('editor'), find),
    limit: perCallerAndApp(60),
    audits,
    answers: { 200: EntityRecord },
    refusals: [recordMissing, uniqueConflict],
    handle: ({ db, access, params, now }) => restoreRecord(db, events, access, params.entity_id, now),
  }),
  route({
    name: 'purgeRecord',
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}/permanent',
    summary: 'Delete a record for good; rules do not apply',
    credentials: writeCredentials,
    access: entityGuard(appAs('editor'), find),
    limit: perCallerAndApp(60),
    audits: ['record.purged', ...audits.sometimes],
    answers: { 200: Success },
    refusals: [recordMissing],
    handle: ({ db, access, params, now }) => purgeRecord(db, events, access, params.entity_id, now),
  }),
];
