// Owns the refusals that several operations on campaigns share. `campaign_state` says what is known of the campaign.
import { Problem } from '../../kit/problem.ts';

/** What is known of a campaign at the ad platform. `unknown`: it may exist, and it may be spending. */
export type CampaignState = 'absent' | 'paused' | 'live' | 'unknown' | 'removed';

export interface AboutCampaign {
  readonly campaign_state: CampaignState;
  readonly campaign_id?: string;
  readonly launch_id?: string;
}

export const launchNotConfirmed = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The ad platform has not confirmed the launch. The campaign may be live and spending: do not send it again, read the campaign list. Plinth finds out, usually within a minute after the platform answers.',
    { members: { ...about }, retrySafe: false, headers: { 'retry-after': '15' } },
  );

/** It goes on. So by the time the caller reads this, the campaign may exist. */
export const launchNotSent = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The launch has not ended yet, and nothing was sent for the campaign so far. It goes on: do not send it again, read it with getLaunch.',
    { members: { ...about }, retrySafe: false, headers: { 'retry-after': '15' } },
  );

/** Of a change of a campaign, which goes on. */
export const changeNotConfirmed = (about: AboutCampaign, { retrySafe }: { readonly retrySafe: boolean }) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The ad platform has not confirmed the change. It may have been applied. Plinth goes on until the platform answers: read the campaign to see what is true.',
    { members: { ...about }, retrySafe, headers: { 'retry-after': '15' } },
  );

/** Nothing of it was applied: every request that was sent was refused. */
export const changeNotSent = (about: AboutCampaign, { retrySafe }: { readonly retrySafe: boolean }) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    "The change is recorded, and was not applied so far: the ad platform can't be reached or refuses it for now, or an earlier change of the campaign has not ended. Plinth goes on until the platform answers: read the campaign to see what is true.",
    { members: { ...about }, retrySafe, headers: { 'retry-after': '15' } },
  );

/** Repeating it would undo what somebody asked for later. */
export const changeReplaced = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'A later request about the same campaign replaced this one before the ad platform confirmed it. Read the campaign to see what is true.',
    { members: { ...about }, retrySafe: false },
  );

export const launchInProgress = (about: Omit<AboutCampaign, 'campaign_state'>) =>
  new Problem(
    'conflict',
    'launch_in_progress',
    'The launch of this campaign has not ended. Read it with getLaunch, and wait until it has.',
    { members: { campaign_state: 'unknown', ...about }, retrySafe: false, headers: { 'retry-after': '5' } },
  );

export const alreadyLaunched = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'already_launched',
    'A campaign was launched from this draft already, and no second one was created. Read it by its `campaign_id`, or send another `draft_id`.',
    { members: { ...about }, retrySafe: false },
  );

export const workspaceBillingHold = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'workspace_billing_hold',
    'The workspace is on billing hold, so that its campaigns can not run. Ask the operator why, then send the request again.',
    { members: { ...about } },
  );

export const accountBillingHold = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'account_billing_hold',
    'The advertising account is suspended, or its billing is not approved. Correct it at the ad platform, then send the request again.',
    { members: { ...about } },
  );

export const paymentProviderUnavailable = () =>
  new Problem(
    'unavailable',
    'payment_provider_unavailable',
    'The payment provider did not answer whether the workspace has a card. Nothing was changed. Try again in a minute.',
    { headers: { 'retry-after': '60' } },
  );

export const paymentMethodRequired = () =>
  new Problem(
    'payment_required',
    'payment_method_required',
    'The workspace has no card. Add one with startBillingSetup, then send the request again.',
  );

export const accountNotActive = () =>
  new Problem(
    'payment_required',
    'account_not_in_good_standing',
    'The ad platform has not activated the advertising account, or has closed it. See its `status` with getAdsAccount.',
  );

export const trackingNotVerified = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'tracking_not_verified',
    'Conversion tracking is not verified, so that the campaign stays paused. Install it and call verifyTracking. If nothing else keeps the campaign paused, it is then enabled.',
    { members: { ...about } },
  );

export const campaignRemoved = () =>
  new Problem('conflict', 'campaign_removed', 'The campaign was deleted, which can not be undone. Launch a new one.', {
    retrySafe: false,
  });

export const locationsNotImported = () =>
  new Problem(
    'unavailable',
    'locations_not_imported',
    "This installation has not imported the ad platform's locations, so that a campaign could be shown in wrong places. Ask the operator to run `plinth geo import`.",
    { retrySafe: false },
  );
