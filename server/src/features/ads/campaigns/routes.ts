// Owns the HTTP contract of reading campaigns.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { appAs, nestedResource } from '../../../core/auth/resource-guards.ts';
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
      'Deleted campaigns are listed too, and those whose launch is not confirmed, with the reason `SERVICE_LAUNCH_UNCONFIRMED`. `X-Data-As-Of` says when the oldest of the statuses was read. If the ad platform does not answer, the metrics are the last known ones, with `X-Partial-Result: metrics`.',
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
    summary: 'Compare all campaigns with the ad platform, and list those that Plinth did not know',
    description:
      'A campaign of another type than Smart or Performance Max is left alone. If the ad platform has more campaigns than Plinth reads, the rest is missing, with `X-Truncated: true`.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(6, 'caller+app'),
    work: 'outside',
    heldSeconds: 60,
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
    summary: 'Read a campaign, with its statuses at this moment',
    description:
      'If the ad platform does not answer within 5 seconds, the statuses are the last known ones, with `X-Partial-Result: live_status` and their time in `X-Data-As-Of`.',
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
    summary: 'Read each step of a campaign at the ad platform, with its outcome',
    description:
      'The last 1,000 steps; if there are more, with `X-Truncated: true`. A campaign that was found at the ad platform has no launch: its `launch_id` is null.',
    credentials: readCredentials,
    access: campaignGuard,
    limit: readLimit,
    headers: ['X-Truncated'],
    answers: { 200: LaunchJournal },
    handle: ({ db, access }) => getCampaignJournal(db, access),
  }),
];
