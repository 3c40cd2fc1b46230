// The HTTP routes for reading campaigns.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { cursorRefusal } from '../../../kit/http/cursor.ts';
import { items } from '../../../kit/http/shapes.ts';
import { findCampaign } from '../store/campaigns.ts';
import { getCampaign, listAppCampaigns } from './campaign.ts';
import { Campaign, CampaignListQuery, CampaignSync, ListedCampaign } from './contract.ts';
import { getCampaignJournal, LaunchJournal } from './journal.ts';
import { type SyncDeps, syncCampaigns } from './sync.ts';

const base = '/api/apps/{app_id}/ads-platform/campaigns';
const readLimit = perMinute(60, 'caller+app', { group: 'adread' });
const campaignGuard = nestedResource(appAs('viewer'), 'campaign', findCampaign);

export const campaignReadRoutes = (deps: SyncDeps): Route[] => [
  route({
    name: 'listCampaigns',
    method: 'GET',
    path: base,
    summary: "List an app's campaigns with their metrics, newest first",
    description:
      'The list includes deleted campaigns and, with the reason `SERVICE_LAUNCH_UNCONFIRMED`, those whose launch is not confirmed. `X-Data-As-Of` says when the oldest status was read. If the ad platform does not answer, the last known metrics are returned with `X-Partial-Result: metrics`.',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: readLimit,
    work: 'outside',
    heldSeconds: 30,
    query: CampaignListQuery,
    headers: ['X-Data-As-Of'],
    answers: { 200: items(ListedCampaign) },
    refusals: [cursorRefusal],
    handle: ({ db, access, query, now }) => listAppCampaigns(db, deps, access, query, now),
  }),
  route({
    name: 'syncCampaigns',
    method: 'POST',
    path: `${base}/sync`,
    summary: 'Compare all campaigns with the ad platform, and add those that are not listed yet',
    description:
      'Only Smart and Performance Max campaigns are added. If the ad platform has more campaigns than Plinth reads, the rest are missing and the response has `X-Truncated: true`.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(6, 'caller+app'),
    work: 'outside',
    heldSeconds: 60,
    repeat: 'safe',
    audits: { sometimes: ['ads.campaign.adopted'] },
    headers: ['X-Truncated'],
    answers: { 200: CampaignSync },
    refusals: [
      { status: 404, code: 'ads_account_not_found' },
      { status: 503, code: 'ad_platform_unavailable' },
    ],
    handle: ({ db, access, now }) => syncCampaigns(db, deps, access, now),
  }),
  route({
    name: 'getCampaign',
    method: 'GET',
    path: `${base}/{campaign_id}`,
    summary: 'Read a campaign with its current statuses',
    description:
      'If the ad platform does not answer within 5 seconds, the last known statuses are returned with `X-Partial-Result: live_status`, and with their time in `X-Data-As-Of`.',
    credentials: readCredentials,
    access: campaignGuard,
    limit: readLimit,
    work: 'outside',
    heldSeconds: 20,
    headers: ['X-Data-As-Of'],
    answers: { 200: Campaign },
    handle: ({ db, access, now }) => getCampaign(db, deps, access, now),
  }),
  route({
    name: 'getCampaignJournal',
    method: 'GET',
    path: `${base}/{campaign_id}/journal`,
    summary: 'Read the requests to the ad platform for a campaign, with their outcomes',
    description:
      'Returns the last 1,000 steps, with `X-Truncated: true` if there are more. For a campaign that was found at the ad platform, `launch_id` is null.',
    credentials: readCredentials,
    access: campaignGuard,
    limit: readLimit,
    headers: ['X-Truncated'],
    answers: { 200: LaunchJournal },
    handle: ({ db, access }) => getCampaignJournal(db, access),
  }),
];
