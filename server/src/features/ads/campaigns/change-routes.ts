// Owns the HTTP contract of changing campaigns.
import { writeCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { appAs, nestedResource } from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { findCampaign } from '../store/campaigns.ts';
import { deleteCampaign, pauseCampaign, resumeCampaign } from './change.ts';
import {
  CampaignUpdate,
  DeletedCampaign,
  PausedCampaign,
  PausedCampaigns,
  ResumedCampaign,
} from './change-contract.ts';
import { Campaign } from './contract.ts';
import { pauseAllCampaigns } from './pause-all.ts';
import { type UpdateDeps, updateCampaign } from './update.ts';

const base = '/api/apps/{app_id}/ads-platform/campaigns';
const changeLimit = perMinute(30, 'caller+app', { group: 'adwrite' });
const campaignGuard = nestedResource(appAs('editor'), 'campaign', findCampaign);
const removed = { status: 409, code: 'campaign_removed' } as const;
const timeout = { status: 409, code: 'ad_platform_timeout' } as const;
const unavailable = { status: 503, code: 'ad_platform_unavailable' } as const;
/** A worker sends the change, and the caller waits for it. */
const waits = { work: 'outside', needsWorker: true, heldSeconds: 60 } as const;

export const campaignChangeRoutes = (deps: UpdateDeps): Route[] => [
  route({
    name: 'pauseAllCampaigns',
    method: 'POST',
    path: `${base}/pause-all`,
    summary: 'Pause all campaigns of an app at once',
    description:
      'Waits for at most 45 seconds. A campaign whose pause is not confirmed by then is in `failed`; Plinth goes on until the ad platform has confirmed it.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(30, 'caller+app'),
    ...waits,
    audits: { sometimes: ['ads.campaign.pause_requested'] },
    answers: { 200: PausedCampaigns },
    refusals: [unavailable],
    handle: ({ db, access, now }) => pauseAllCampaigns(db, deps, access, now),
  }),
  route({
    name: 'updateCampaign',
    method: 'PATCH',
    path: `${base}/{campaign_id}`,
    summary: 'Change one field of a campaign',
    description:
      'The rules of a value are those of launchCampaign. Can be repeated. After 409 `ad_platform_timeout`, Plinth goes on until the ad platform has answered.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    effect: 'spend',
    body: CampaignUpdate,
    audits: ['ads.campaign.update_requested'],
    answers: { 200: Campaign },
    refusals: [
      { status: 400, code: 'section_not_applicable' },
      { status: 400, code: 'landing_page_invalid' },
      { status: 400, code: 'currency_unsupported' },
      { status: 400, code: 'budget_out_of_range' },
      { status: 400, code: 'budget_not_multiple' },
      { status: 400, code: 'geo_target_unknown' },
      { status: 400, code: 'eu_declaration_required' },
      { status: 400, code: 'platform_rejected' },
      { status: 404, code: 'ads_account_not_found' },
      { status: 503, code: 'locations_not_imported' },
      removed,
      { status: 409, code: 'launch_in_progress' },
      timeout,
      unavailable,
    ],
    handle: ({ db, access, body, now }) => updateCampaign(db, deps, access, body, now),
  }),
  route({
    name: 'pauseCampaign',
    method: 'POST',
    path: `${base}/{campaign_id}/pause`,
    summary: 'Pause a campaign; it spends nothing until it is resumed',
    description:
      'Can be repeated. While the launch of the campaign is not confirmed, the pause is recorded and carried out once it is; the launch then enables nothing. After 409 `ad_platform_timeout`, Plinth goes on until the ad platform has confirmed the pause.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    audits: { sometimes: ['ads.campaign.pause_requested'] },
    answers: { 200: PausedCampaign },
    refusals: [removed, timeout, unavailable],
    handle: ({ db, access, now }) => pauseCampaign(db, deps, access, now),
  }),
  route({
    name: 'resumeCampaign',
    method: 'POST',
    path: `${base}/{campaign_id}/resume`,
    summary: 'Resume a campaign; it may spend from now on',
    description:
      'Answers 200 only if the ad platform has confirmed that the campaign is enabled. After 409 `ad_platform_timeout`, Plinth goes on for at most 15 minutes, unless the campaign is paused meanwhile.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    effect: 'spend',
    audits: { sometimes: ['ads.campaign.resume_requested'] },
    answers: { 200: ResumedCampaign },
    refusals: [
      { status: 400, code: 'platform_rejected' },
      { status: 402, code: 'payment_method_required' },
      { status: 402, code: 'account_not_in_good_standing' },
      { status: 503, code: 'payment_provider_unavailable' },
      { status: 409, code: 'workspace_billing_hold' },
      { status: 409, code: 'account_billing_hold' },
      { status: 409, code: 'tracking_not_verified' },
      removed,
      { status: 409, code: 'launch_in_progress' },
      timeout,
      unavailable,
    ],
    handle: ({ db, access, now }) => resumeCampaign(db, deps, access, now),
  }),
  route({
    name: 'deleteCampaign',
    method: 'DELETE',
    path: `${base}/{campaign_id}`,
    summary: 'Delete a campaign for ever; it stays in the list with what it has spent',
    description:
      'Pausing is the alternative that can be undone. While the launch of the campaign is not confirmed, the deletion is recorded and carried out once it is. After 409 `ad_platform_timeout`, Plinth goes on until the ad platform has confirmed the deletion.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    audits: { sometimes: ['ads.campaign.delete_requested'] },
    answers: { 200: DeletedCampaign },
    refusals: [timeout, unavailable],
    handle: ({ db, access, now }) => deleteCampaign(db, deps, access, now),
  }),
];
