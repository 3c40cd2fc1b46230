// The HTTP routes for conversion tracking.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { type Cursors, cursorRefusal } from '../../../kit/http/cursor.ts';
import { items, Success } from '../../../kit/http/shapes.ts';
import { getReadyAccount } from '../accounts/account.ts';
import { findMapping, listMappings } from '../store/tracking.ts';
import { type BootstrapDeps, buildBootstrapPrompt } from './bootstrap.ts';
import {
  BootstrapPrompt,
  BootstrapRequest,
  ConversionAction,
  ConversionMapping,
  ConversionMappingChange,
  ListQuery,
  NewConversionMapping,
  presentAction,
  presentMapping,
  TrackingScan,
  TrackingScript,
  TrackingVerification,
} from './contract.ts';
import type { EnableDeps } from './enable.ts';
import { listGoals, readConversionId } from './goals.ts';
import { changeMapping, createMapping, deleteMapping, type ListFields } from './mapping.ts';
import { scanTracking } from './scan.ts';
import { renderTag } from './tag.ts';
import { type VerifyDeps, verifyTracking } from './verify.ts';

export interface TrackingDeps extends BootstrapDeps, VerifyDeps, EnableDeps {
  readonly cursors: Cursors;
  readonly listFields: ListFields;
}

const base = '/api/apps/{app_id}/ads-platform';
const mappingGuard = nestedResource(appAs('editor'), 'mapping', findMapping);
const readLimit = perMinute(60, 'caller+app', { group: 'adread' });
const changeLimit = perMinute(30, 'caller+app');
const noAccount = { status: 404, code: 'ads_account_not_found' } as const;
const noPlatform = { status: 503, code: 'ad_platform_unavailable' } as const;

export const trackingRoutes = (deps: TrackingDeps): Route[] => [...conversionRoutes(deps), ...tagRoutes(deps)];

/** Routes that define conversions. */
const conversionRoutes = (deps: TrackingDeps): Route[] => [
  route({
    name: 'listConversionActions',
    method: 'GET',
    path: `${base}/conversion-actions`,
    summary: "List the conversion actions of an app's advertising account, newest first",
    description: 'The ad platform publishes the id and the label of an action a few seconds after it was created.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: readLimit,
    work: 'outside',
    heldSeconds: 20,
    query: ListQuery,
    answers: { 200: items(ConversionAction) },
    refusals: [noAccount, noPlatform, cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listConversionActions', access.app.id, access.caller.credential_id];
      const after = deps.cursors.open(query.cursor, binding, now);
      const goals = (await listGoals(deps.platform, await getReadyAccount(db, access))).toReversed();
      const from = after === undefined ? 0 : goals.findIndex(({ id }) => BigInt(id) < BigInt(after[0] as string));
      const rows = from === -1 ? [] : goals.slice(from, from + query.limit + 1);
      return deps.cursors.page(rows, query.limit, binding, now, presentAction, ({ id }) => [id]);
    },
  }),
  route({
    name: 'listConversionMappings',
    method: 'GET',
    path: `${base}/conversion-mappings`,
    summary: 'List the conversion mappings of an app, newest first',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: readLimit,
    query: ListQuery,
    answers: { 200: items(ConversionMapping) },
    refusals: [noAccount, cursorRefusal],
    handle: async ({ db, access, query, now }) => {
      const binding = ['listConversionMappings', access.app.id, access.caller.credential_id];
      const after = deps.cursors.open(query.cursor, binding, now);
      await getReadyAccount(db, access);
      const rows = await listMappings(db, access, query.limit, after);
      return deps.cursors.page(rows, query.limit, binding, now, presentMapping, ({ id }) => [id]);
    },
  }),
  route({
    name: 'createConversionMapping',
    method: 'POST',
    path: `${base}/conversion-mappings`,
    summary: 'Create a conversion mapping: a change to records that counts as a conversion',
    description: 'The app itself must report conversions. To install the calls, use `buildBootstrapPrompt`.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: changeLimit,
    stores: 800,
    idempotency: 'optional',
    body: NewConversionMapping,
    audits: ['ads.mapping.created'],
    answers: { 200: ConversionMapping },
    refusals: [noAccount, { status: 409, code: 'limit_reached' }],
    handle: ({ db, access, body, now }) => createMapping(db, access, body, deps.listFields, now),
  }),
  route({
    name: 'updateConversionMapping',
    method: 'PATCH',
    path: `${base}/conversion-mappings/{mapping_id}`,
    summary: 'Change a conversion mapping; fields that are not sent, or null, keep their value',
    description: 'An empty string clears `conversion_action_id`, `value_field` or `currency_field`.',
    credentials: writeCredentials,
    access: mappingGuard,
    limit: changeLimit,
    body: ConversionMappingChange,
    idempotency: 'optional',
    audits: ['ads.mapping.updated'],
    answers: { 200: ConversionMapping },
    handle: ({ db, access, body, now }) => changeMapping(db, access, body, deps.listFields, now),
  }),
  route({
    name: 'deleteConversionMapping',
    method: 'DELETE',
    path: `${base}/conversion-mappings/{mapping_id}`,
    summary: 'Delete a conversion mapping; calls in the app stay until you remove them',
    credentials: writeCredentials,
    access: mappingGuard,
    limit: changeLimit,
    repeat: 'safe',
    audits: ['ads.mapping.deleted'],
    answers: { 200: Success },
    handle: ({ db, access, now }) => deleteMapping(db, access, now),
  }),
];

/** Routes that install the tag in the app and verify it. */
const tagRoutes = (deps: TrackingDeps): Route[] => [
  route({
    name: 'getTrackingScript',
    method: 'GET',
    path: `${base}/tracking-script`,
    summary: "Read the base tag for an app's pages, with the id of its account",
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: readLimit,
    work: 'outside',
    heldSeconds: 40,
    answers: { 200: TrackingScript },
    refusals: [noAccount, noPlatform],
    handle: async ({ db, access }) => {
      const account = await getReadyAccount(db, access);
      const goals = await listGoals(deps.platform, account);
      const conversion_id = await readConversionId(deps.platform, account, goals);
      return { conversion_id, script: conversion_id === '' ? '' : renderTag(conversion_id) };
    },
  }),
  route({
    name: 'scanTracking',
    method: 'POST',
    path: `${base}/tracking-scan`,
    summary: "Find what an app's files lack for conversion tracking",
    description:
      'The scan reads the published files, or the current ones if the app is not published. It changes nothing. `X-Partial-Result: gaps` means that some files could not be read; `X-Warning` names them.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(20, 'caller+app'),
    work: 'outside',
    effect: 'read',
    heldSeconds: 90,
    audits: 'nothing',
    answers: { 200: TrackingScan },
    headers: ['X-Truncated', 'X-Warning'],
    refusals: [noPlatform],
    handle: ({ db, access }) => scanTracking(db, deps, access),
  }),
  route({
    name: 'buildBootstrapPrompt',
    method: 'POST',
    path: `${base}/tracking-scan/build-bootstrap-prompt`,
    summary: 'Create the conversion goals that are missing, and write the instruction that installs tracking',
    description:
      "Goals can't be removed with this API. Send `composer_prompt` with `sendChatMessage`. With `wire_events` and enabled mappings, the request reads their tags up to five times, a second apart.",
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(10, 'caller+app'),
    work: 'outside',
    heldSeconds: 180,
    body: BootstrapRequest,
    repeat: 'safe',
    audits: { sometimes: ['ads.goals.created'] },
    answers: { 200: BootstrapPrompt },
    refusals: [{ status: 400, code: 'platform_rejected' }, noPlatform],
    handle: ({ db, access, body, now }) => buildBootstrapPrompt(db, deps, access, body.wire_events ?? false, now),
  }),
  route({
    name: 'verifyTracking',
    method: 'POST',
    path: `${base}/tracking-verify`,
    summary:
      'Verify in a browser that the published app tracks conversions, and enable the campaigns that wait for this',
    description:
      'Plinth does the same after an app was published, and every 15 minutes while a campaign waits. `X-Partial-Result: enabled_campaign_ids` means that some campaigns are not confirmed yet. `X-Partial-Result: checks` means that a check was inconclusive, for example because the browser did not start or the app changed during the check. The last result is then kept.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(10, 'caller+app'),
    work: 'outside',
    heldSeconds: 180,
    audits: { sometimes: ['ads.tracking.checked', 'ads.campaign.resume_requested'] },
    answers: { 200: TrackingVerification },
    refusals: [noAccount, noPlatform],
    handle: ({ db, access, now }) => verifyTracking(db, deps, access, now),
  }),
];
