// The HTTP routes for changing campaigns.
import { writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { Campaign } from '../campaigns/contract.ts';
import { findCampaign } from '../store/campaigns.ts';
import { CampaignUpdate, DeletedCampaign, PausedCampaign, PausedCampaigns, ResumedCampaign } from './contract.ts';
import { pauseAllCampaigns } from './pause-all.ts';
import { checkResume, deleteCampaign, pauseCampaign, repeatResume, resumeCampaign } from './status.ts';
import { prepareUpdate, resumeUpdate, type UpdateDeps, updateCampaign } from './update.ts';

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
      'The request waits for at most 45 seconds. A campaign whose pause is not confirmed by then is listed in `failed`, and Plinth keeps trying until the ad platform confirms it.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(30, 'caller+app'),
    ...waits,
    repeat: 'safe',
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
      'A value must follow the rules of launchCampaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform answers.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    effect: 'spend',
    idempotency: 'optional',
    body: CampaignUpdate,
    audits: { sometimes: ['ads.campaign.update_requested'] },
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
      { status: 409, code: 'spending_ceiling_reached' },
      removed,
      { status: 409, code: 'launch_in_progress' },
      timeout,
      unavailable,
    ],
    precheck: ({ db, access, body, now }) => prepareUpdate(db, deps, access, body, now),
    handle: ({ db, access, now }, prepared) => updateCampaign(db, deps, access, prepared, now),
    resume: ({ db, access, body, now }, begun) => resumeUpdate(db, deps, access, { body, begun }, now),
  }),
  route({
    name: 'pauseCampaign',
    method: 'POST',
    path: `${base}/{campaign_id}/pause`,
    summary: 'Pause a campaign; it spends nothing until it is resumed',
    description:
      'The request can be repeated. While the launch of the campaign is not confirmed, the pause is recorded and carried out after the launch, which then does not enable the campaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the pause.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    repeat: 'safe',
    audits: { sometimes: ['ads.campaign.pause_requested'] },
    answers: { 200: PausedCampaign },
    refusals: [removed, timeout, unavailable],
    handle: ({ db, access, now }) => pauseCampaign(db, deps, access, now),
  }),
  route({
    name: 'resumeCampaign',
    method: 'POST',
    path: `${base}/{campaign_id}/resume`,
    summary: 'Resume a campaign; it can spend from then on',
    description:
      'Returns 200 only if the ad platform has confirmed that the campaign is enabled. After 409 `ad_platform_timeout`, Plinth keeps trying for at most 15 minutes, unless the campaign is paused in that time.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    effect: 'spend',
    idempotency: 'optional',
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
      { status: 409, code: 'spending_ceiling_reached' },
      removed,
      { status: 409, code: 'launch_in_progress' },
      timeout,
      unavailable,
    ],
    precheck: ({ db, access, now }) => checkResume(db, deps, access, now),
    handle: ({ db, access, now }, isEnabledNow) => resumeCampaign(db, deps, access, isEnabledNow, now),
    resume: ({ db, access, now }, begun) => repeatResume(db, deps, access, begun, now),
  }),
  route({
    name: 'deleteCampaign',
    method: 'DELETE',
    path: `${base}/{campaign_id}`,
    summary: 'Delete a campaign forever; it stays in the list with its cost',
    description:
      'To stop a campaign temporarily, pause it instead. While the launch of the campaign is not confirmed, the deletion is recorded and carried out after the launch. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the deletion.',
    credentials: writeCredentials,
    access: campaignGuard,
    limit: changeLimit,
    ...waits,
    repeat: 'safe',
    audits: { sometimes: ['ads.campaign.delete_requested'] },
    answers: { 200: DeletedCampaign },
    refusals: [timeout, unavailable],
    handle: ({ db, access, now }) => deleteCampaign(db, deps, access, now),
  }),
];
