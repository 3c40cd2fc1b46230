// The record routes.
import { z } from 'zod';
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { appData, appDataAs, appDataWith } from '../../../core/auth/guards/app-data.ts';
import type { Guard } from '../../../core/auth/guards/guard.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { bulkBytes, type Limit, perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Cursors, cursorRefusal } from '../../../kit/http/cursor.ts';
import { items, Success } from '../../../kit/http/shapes.ts';
import type { Db } from '../../../tables.ts';
import {
  AllRecords,
  CountRecordsQuery,
  DeleteRecordsBody,
  EntityRecord,
  ListAllRecordsQuery,
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
import { recordNotFound as newRecordNotFound } from './change.ts';
import { createRecord, createRecords } from './create.ts';
import { countRecords, getRecord, listRecords } from './list.ts';
import { listAllRecords } from './list-all.ts';
import { withRuleChecks } from './record.ts';
import { type KeptUpsert, keepUpsert, listIds, rereadRecords, type Upserted } from './reread.ts';
import type { PrefetchedRecord } from './store/records.ts';
import { deleteRecord, purgeRecord, restoreRecord } from './trash.ts';
import { updateRecord, updateRecords } from './update.ts';
import type { WriteDeps } from './write.ts';

export interface RecordDeps extends WriteDeps {
  readonly cursors: Cursors;
  readonly findEntity: FindEntity;
}

const perCallerAndApp = (quota: number, windowSeconds = 60): Limit => ({
  ...perMinute(quota, 'caller+app'),
  windowSeconds,
});
const listLimit = perMinute(100, 'caller+app', { group: 'entread' });
const appReadCredentials = { ...readCredentials, appUser: true } as const;
const appWriteCredentials = { ...writeCredentials, appUser: true } as const;
const audits = { sometimes: ['record.written', 'record.user_entity_written'] } as const;
const maxBulkBytes = 10 * 1024 * 1024;

const recordNotFound = { status: 404, code: 'record_not_found' } as const;
const ruleDenied = { status: 403, code: 'rule_denied' } as const;
const fieldRuleDenied = { status: 403, code: 'field_rule_denied' } as const;
const ruleTooExpensive = { status: 409, code: 'rule_too_expensive' } as const;
const quotaExceeded = { status: 402, code: 'storage_quota_exceeded' } as const;
const uniqueConflict = { status: 409, code: 'unique_conflict' } as const;

// How large answers are read again for a repeated key (docs/api/conventions.md#large-answers).
interface RereadCall {
  readonly db: Db;
  readonly access: Parameters<typeof withRuleChecks>[0];
  readonly now: Date;
}

const rereadAll = {
  keep: (body: unknown) => listIds(body as unknown[]),
  async answer({ db, access, now }: RereadCall, kept: unknown) {
    const { records, notes } = await rereadRecords(db, withRuleChecks(access), { ids: kept as string[] }, now);
    return withNotes(records, notes);
  },
};

const rereadOne = {
  keep: (body: unknown) => listIds([body]),
  async answer(call: RereadCall, kept: unknown) {
    const { body, notes } = await rereadAll.answer(call, kept);
    if (!body[0]) throw newRecordNotFound();
    return withNotes(body[0], notes);
  },
};

/** The request's lookup also returns the record, which saves a query in operations that begin by reading it. */
const recordGuard = () => appDataWith<'record', PrefetchedRecord>('record', 'entity_records', 'entity_id');

/** Finds the entity named in the path. Every response about `User` warns that its records are not the app's users. */
export function entityGuard<Proof extends AppScope>(guard: Guard<Proof>, findEntity: FindEntity) {
  const inner = nestedResource(guard, 'entity', findEntity, 'entity_name');
  const withWarning: typeof inner = {
    ...inner,
    loadNested: (db, proof, exchange) => {
      if (exchange.params.entity_name === 'User') exchange.warnings.push('user_entity_disconnected');
      return (inner.loadNested as NonNullable<typeof inner.loadNested>)(db, proof, exchange);
    },
  };
  return withWarning;
}

export const recordRoutes = (deps: RecordDeps): Route[] => [
  ...readRoutes(deps),
  ...writeRoutes(deps),
  ...removalRoutes(deps),
];

const readRoutes = ({ cursors, findEntity }: RecordDeps): Route[] => [
  route({
    name: 'listRecords',
    headers: ['X-Warning'],
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'List the records of an entity that the caller may read, newest first',
    description:
      '`q` is a filter as JSON. Any other parameter names a field and the value that it must have. A cursor contains the filter, sort and fields. A page ends early if its data would exceed 1 MiB.',
    credentials: appReadCredentials,
    access: entityGuard(appData(), findEntity),
    limit: listLimit,
    work: 'slow',
    query: ListRecordsQuery,
    answers: { 200: items(EntityRecord) },
    refusals: [cursorRefusal, ruleTooExpensive],
    handle: ({ db, access, query, now }) => listRecords(db, withRuleChecks(access), cursors, query, now),
  }),
  route({
    name: 'countRecords',
    headers: ['X-Warning'],
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}/count',
    summary: 'Count how many records of an entity there are that the caller may read',
    credentials: appReadCredentials,
    access: entityGuard(appData(), findEntity),
    limit: listLimit,
    work: 'slow',
    query: CountRecordsQuery,
    answers: { 200: RecordCount },
    refusals: [ruleTooExpensive],
    handle: ({ db, access, query }) => countRecords(db, withRuleChecks(access), query),
  }),
  route({
    name: 'listAllRecords',
    headers: ['X-Partial-Result', 'X-Warning'],
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}/all',
    summary: 'List all records of an entity with their creators, newest first; rules do not apply',
    description:
      'For editors of the app, who decide about its rules. Fields with read rules are included. To see what a user of the app sees, use `listRecords` with a token of that user.',
    credentials: writeCredentials,
    access: entityGuard(appDataAs('editor'), findEntity),
    limit: listLimit,
    work: 'slow',
    query: ListAllRecordsQuery,
    answers: { 200: AllRecords },
    refusals: [cursorRefusal],
    handle: ({ db, access, query, now }) => listAllRecords(db, access, cursors, query, now),
  }),
  route({
    name: 'getRecord',
    headers: ['X-Warning'],
    method: 'GET',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Read one record',
    credentials: appReadCredentials,
    access: entityGuard(recordGuard(), findEntity),
    limit: perCallerAndApp(300),
    answers: { 200: EntityRecord },
    refusals: [recordNotFound, ruleTooExpensive],
    handle: ({ db, access, params }) => getRecord(db, withRuleChecks(access), params.entity_id),
  }),
];

const writeRoutes = ({ findEntity, ...deps }: RecordDeps): Route[] => [
  route({
    name: 'createRecord',
    headers: ['X-Data-As-Of', 'X-Warning'],
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'Create a record of an entity',
    description: 'Adds one record. For many at once, use `createRecords`.',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(100),
    stores: 'measured',
    idempotency: 'optional',
    reread: rereadOne,
    body: RecordBody,
    audits,
    answers: { 200: EntityRecord },
    refusals: [recordNotFound, ruleDenied, fieldRuleDenied, ruleTooExpensive, uniqueConflict, quotaExceeded],
    handle: ({ db, access, body, now }) => createRecord(db, deps, withRuleChecks(access), body, now),
  }),
  route({
    name: 'createRecords',
    headers: ['X-Data-As-Of', 'X-Partial-Result', 'X-Warning'],
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/bulk',
    summary: 'Create many records at once, up to 500, all or nothing',
    description: 'To import more, send several requests.',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(30),
    stores: 'measured',
    work: 'slow',
    idempotency: 'optional',
    reread: rereadAll,
    body: NewRecords,
    bodyLimitBytes: maxBulkBytes,
    bytes: bulkBytes,
    audits,
    answers: { 200: z.array(EntityRecord.nullable()) },
    refusals: [ruleDenied, fieldRuleDenied, ruleTooExpensive, uniqueConflict, quotaExceeded],
    handle: ({ db, access, body, now }) => createRecords(db, deps, withRuleChecks(access), body, now),
  }),
  route({
    name: 'updateRecord',
    headers: ['X-Data-As-Of', 'X-Warning'],
    method: 'PUT',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Update a record by merging the sent fields into it',
    description:
      'A field that is not sent keeps its value; null clears it. Fields that the schema does not declare, and automatic fields, are ignored and listed in `X-Ignored-Fields`.',
    credentials: appWriteCredentials,
    access: entityGuard(recordGuard(), findEntity),
    limit: perCallerAndApp(100),
    stores: 'measured',
    body: RecordBody,
    audits,
    idempotency: 'optional',
    reread: rereadOne,
    answers: { 200: EntityRecord },
    refusals: [recordNotFound, ruleDenied, fieldRuleDenied, ruleTooExpensive, uniqueConflict, quotaExceeded],
    handle: ({ db, access, params, body, now }) =>
      updateRecord(db, deps, withRuleChecks(access), { id: params.entity_id, input: body }, now),
  }),
  route({
    name: 'updateRecords',
    headers: ['X-Data-As-Of', 'X-Partial-Result', 'X-Warning'],
    method: 'PUT',
    path: '/api/apps/{app_id}/entities/{entity_name}/bulk',
    summary: 'Update up to 500 records, all or nothing',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(30),
    stores: 'measured',
    work: 'slow',
    body: RecordChanges,
    bodyLimitBytes: maxBulkBytes,
    bytes: bulkBytes,
    audits,
    idempotency: 'optional',
    reread: rereadAll,
    answers: { 200: z.array(EntityRecord.nullable()) },
    refusals: [recordNotFound, ruleDenied, fieldRuleDenied, ruleTooExpensive, uniqueConflict, quotaExceeded],
    handle: ({ db, access, body, now, countBytes }) =>
      updateRecords(db, { ...deps, countBytes }, withRuleChecks(access), body, now),
  }),
  route({
    name: 'upsertRecords',
    headers: ['X-Data-As-Of', 'X-Partial-Result', 'X-Warning'],
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/upsert',
    summary: 'Update the records whose key exists and create the others, all or nothing',
    description: 'Only records and key fields that the caller may read are used to find existing records.',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(30),
    stores: 'measured',
    work: 'slow',
    idempotency: 'optional',
    reread: {
      keep: (body) => keepUpsert(body as Upserted),
      answer: async ({ db, access, now }, kept) => {
        const { ids, ...counts } = kept as KeptUpsert;
        const { records, notes } = await rereadRecords(db, withRuleChecks(access), { ids, prefix: 'records.' }, now);
        return withNotes({ ...counts, records }, notes);
      },
    },
    body: UpsertBody,
    bodyLimitBytes: maxBulkBytes,
    bytes: bulkBytes,
    audits,
    answers: { 200: RecordsUpserted },
    refusals: [
      ruleDenied,
      fieldRuleDenied,
      ruleTooExpensive,
      uniqueConflict,
      quotaExceeded,
      { status: 409, code: 'upsert_key_ambiguous' },
    ],
    handle: ({ db, access, body, now, countBytes }) =>
      upsertRecords(db, { ...deps, countBytes }, withRuleChecks(access), body, now),
  }),
];

const removalRoutes = ({ findEntity, ...deps }: RecordDeps): Route[] => [
  route({
    name: 'deleteRecord',
    headers: ['X-Warning'],
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}',
    summary: 'Move a record to the trash, from which builders can restore it for 30 days',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(100, 30),
    audits,
    repeat: 'safe',
    answers: { 200: Success },
    refusals: [recordNotFound, ruleDenied, ruleTooExpensive],
    handle: ({ db, access, params, now }) => deleteRecord(db, deps, withRuleChecks(access), params.entity_id, now),
  }),
  route({
    name: 'deleteRecords',
    headers: ['X-Truncated', 'X-Warning'],
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}',
    summary: 'Delete all records that match a query: move them to the trash, up to 5,000 and 64 MiB',
    description:
      'Only records that the caller may read and that the delete rule allows are deleted. `X-Truncated` is sent if there are more.',
    credentials: appWriteCredentials,
    access: entityGuard(appData(), findEntity),
    limit: perCallerAndApp(10),
    work: 'slow',
    bytes: bulkBytes,
    body: DeleteRecordsBody,
    audits,
    idempotency: 'optional',
    answers: { 200: RecordsDeleted },
    refusals: [ruleDenied, ruleTooExpensive],
    handle: ({ db, access, body, now, countBytes }) =>
      deleteRecords(db, { ...deps, countBytes }, withRuleChecks(access), body, now),
  }),
  route({
    name: 'restoreRecord',
    headers: ['X-Warning'],
    method: 'POST',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}/restore',
    summary: 'Restore a record from the trash; rules do not apply',
    credentials: writeCredentials,
    access: entityGuard(appAs('editor'), findEntity),
    limit: perCallerAndApp(60),
    stores: 'measured',
    audits,
    repeat: 'safe',
    answers: { 200: EntityRecord },
    refusals: [recordNotFound, uniqueConflict, quotaExceeded],
    handle: ({ db, access, params, now }) => restoreRecord(db, deps, access, params.entity_id, now),
  }),
  route({
    name: 'purgeRecord',
    headers: ['X-Warning'],
    method: 'DELETE',
    path: '/api/apps/{app_id}/entities/{entity_name}/{entity_id}/permanent',
    summary: 'Delete a record permanently; rules do not apply',
    credentials: writeCredentials,
    access: entityGuard(appAs('editor'), findEntity),
    limit: perCallerAndApp(60),
    repeat: 'safe',
    audits: ['record.purged', ...audits.sometimes],
    answers: { 200: Success },
    refusals: [recordNotFound],
    handle: ({ db, access, params, now }) => purgeRecord(db, deps, access, params.entity_id, now),
  }),
];
