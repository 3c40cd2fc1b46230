// The HTTP routes for launches.
import { readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { Answer, withNotes } from '../../../kit/http/answer.ts';
import { Campaign } from '../campaigns/contract.ts';
import { LaunchJournal } from '../campaigns/journal.ts';
import { CampaignInput, LaunchedCampaign, LaunchRequest } from './contract.ts';
import { getLaunch, type LaunchDeps, type LaunchOrder, prepareLaunch, recordLaunch, resumeLaunch } from './launch.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const toKey = (headers: Headers): string | undefined => headers['idempotency-key']?.toString();

const toLaunchOrder = ({ campaign, timezone }: LaunchRequest, headers: Headers): LaunchOrder => ({
  campaign,
  ...(timezone !== undefined && { timezone }),
  idempotencyKey: toKey(headers),
  at: ['campaign'],
  needsAccount: false,
});

const toCreateOrder = (campaign: CampaignInput, headers: Headers): LaunchOrder => ({
  campaign,
  idempotencyKey: toKey(headers),
  at: [],
  needsAccount: true,
});

/**
 * Omits the account, because the caller already had one. Until the launch has ended, the body holds the data needed to
 * resume a repeated request.
 */
function withoutAccount({ body, notes, status, media, finish }: Answer<LaunchedCampaign>): Answer<Campaign> {
  if (finish === undefined) return withNotes(body.campaign, notes);
  const begun = body as unknown as Campaign;
  return new Answer(begun, notes, status, media, async (db) => withoutAccount(await finish(db)));
}

const common = {
  method: 'POST',
  credentials: writeCredentials,
  access: appAs('editor'),
  limit: perMinute(10, 'caller+app'),
  stores: 6_000,
  work: 'outside',
  effect: 'spend',
  needsWorker: true,
  idempotency: 'optional',
  heldSeconds: 60,
  audits: ['ads.launch.requested'],
} as const;

const refusals = [
  { status: 400, code: 'campaign_type_not_available' },
  { status: 400, code: 'logo_required' },
  { status: 400, code: 'landing_page_invalid' },
  { status: 400, code: 'business_name_too_long' },
  { status: 400, code: 'currency_unsupported' },
  { status: 400, code: 'budget_out_of_range' },
  { status: 400, code: 'budget_not_multiple' },
  { status: 400, code: 'geo_target_unknown' },
  { status: 400, code: 'eu_declaration_required' },
  { status: 400, code: 'platform_rejected' },
  { status: 402, code: 'payment_method_required' },
  { status: 402, code: 'account_not_in_good_standing' },
  { status: 409, code: 'spending_ceiling_reached' },
  { status: 409, code: 'already_launched' },
  { status: 409, code: 'launch_in_progress' },
  { status: 409, code: 'workspace_billing_hold' },
  { status: 409, code: 'account_billing_hold' },
  { status: 409, code: 'ad_platform_timeout' },
  { status: 503, code: 'locations_not_imported' },
  { status: 503, code: 'payment_provider_unavailable' },
  { status: 503, code: 'model_unavailable' },
  { status: 503, code: 'model_not_configured' },
  { status: 503, code: 'ad_platform_unavailable' },
] as const;

export const launchRoutes = (deps: LaunchDeps): Route[] => [
  route({
    ...common,
    name: 'launchCampaign',
    path: '/api/apps/{app_id}/ads-platform/launch',
    summary: "Launch a campaign, and create the app's advertising account if it has none; this starts spending",
    description:
      "The campaign is created paused. It is enabled once it is in the campaign list, if conversion tracking is verified and `start_paused` is not set. After 409 `ad_platform_timeout`, the campaign may be live and spending: don't send the request again, but call listCampaigns or getLaunch. The same draft never creates a second campaign.",
    body: LaunchRequest,
    answers: { 200: LaunchedCampaign },
    refusals,
    precheck: ({ db, access, body, headers, now }) =>
      prepareLaunch(db, deps, access, toLaunchOrder(body, headers), now),
    handle: ({ db, access, now }, prepared) => recordLaunch(db, deps, access, prepared, now),
    resume: ({ db, access, body, headers, now }, begun) =>
      resumeLaunch(db, deps, access, { begun, order: toLaunchOrder(body, headers) }, now),
  }),
  route({
    ...common,
    name: 'createCampaign',
    path: '/api/apps/{app_id}/ads-platform/campaigns',
    summary: "Create a campaign in the app's advertising account; this starts spending",
    description: 'Works like launchCampaign, for an app that already has an advertising account.',
    body: CampaignInput,
    answers: { 200: Campaign },
    refusals: [{ status: 404, code: 'ads_account_not_found' }, ...refusals],
    precheck: ({ db, access, body, headers, now }) =>
      prepareLaunch(db, deps, access, toCreateOrder(body, headers), now),
    handle: async ({ db, access, now }, prepared) =>
      withoutAccount(await recordLaunch(db, deps, access, prepared, now)),
    resume: async ({ db, access, body, headers, now }, begun) =>
      withoutAccount(await resumeLaunch(db, deps, access, { begun, order: toCreateOrder(body, headers) }, now)),
  }),
  route({
    name: 'getLaunch',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/launches/{launch_id}',
    summary: 'Read a launch: its state, each request to the ad platform with its outcome, and what to do next',
    credentials: readCredentials,
    access: appAs('viewer'),
    limit: perMinute(60, 'caller+app', { group: 'adread' }),
    headers: ['X-Truncated'],
    answers: { 200: LaunchJournal },
    refusals: [{ status: 404, code: 'launch_not_found' }],
    handle: ({ db, access, params }) => getLaunch(db, access, params.launch_id),
  }),
];
