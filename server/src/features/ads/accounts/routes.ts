// The HTTP routes for advertising accounts.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { type AccountDeps, ensureAccount, getAccount } from './account.ts';
import { AdsAccount, NewAdsAccount } from './contract.ts';

export const accountRoutes = (deps: AccountDeps): Route[] => [
  route({
    name: 'getAdsAccount',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/accounts',
    summary: "Read an app's advertising account, with a status that is at most a minute old",
    description:
      'If the ad platform does not answer, the last known status is returned with `X-Partial-Result: live_status`.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    work: 'outside',
    heldSeconds: 10,
    headers: ['X-Data-As-Of'],
    answers: { 200: AdsAccount },
    refusals: [{ status: 404, code: 'ads_account_not_found' }],
    handle: ({ db, access, now }) => getAccount(db, deps, access, now),
  }),
  route({
    name: 'ensureTrackingAccount',
    method: 'POST',
    path: '/api/apps/{app_id}/ads-platform/accounts/ensure-for-tracking',
    summary: "Create an app's advertising account if it has none, without a campaign and free of charge",
    description: 'After 409 `ad_platform_timeout`, send the request again. An app never gets a second account.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(10, 'caller+app'),
    work: 'outside',
    heldSeconds: 60,
    body: NewAdsAccount,
    repeat: 'safe',
    audits: ['ads.account.created'],
    headers: ['X-Data-As-Of'],
    answers: { 200: AdsAccount },
    refusals: [
      { status: 400, code: 'platform_rejected' },
      { status: 409, code: 'ad_platform_timeout' },
      { status: 503, code: 'ad_platform_unavailable' },
    ],
    handle: ({ db, access, body, now }) => ensureAccount(db, deps, access, body, now),
  }),
];
