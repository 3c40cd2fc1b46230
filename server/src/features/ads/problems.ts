// The refusals that several campaign operations share. `campaign_state` gives the campaign's known state.
import { Problem } from '../../kit/problem.ts';

/** A campaign's known state on the ad platform. `unknown` means that the campaign may exist and may be spending. */
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
    "The ad platform has not confirmed the launch. The campaign may be live and spending. Don't send the request again; check the campaign list instead. Plinth usually knows the outcome within a minute of the platform's response.",
    { members: { ...about }, retrySafe: false, headers: { 'retry-after': '15' } },
  );

/** The launch continues, so the campaign may exist when the caller reads this. */
export const launchNotSent = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    "The launch is still in progress, and nothing has been sent to the ad platform yet. Don't send the request again; check the launch with getLaunch instead.",
    { members: { ...about }, retrySafe: false, headers: { 'retry-after': '15' } },
  );

/** The change is still in progress. Whether the request can be repeated follows from its operation. */
export const changeNotConfirmed = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'The ad platform has not confirmed the change, but it may have been applied. Plinth will keep trying until the platform responds. Call getCampaign to see the current state.',
    { members: { ...about }, headers: { 'retry-after': '15' } },
  );

/** Nothing has been applied, because no request was sent or every request was refused. */
export const changeNotSent = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    "The change is recorded but not applied yet, because the ad platform can't be reached or is temporarily rejecting it, or because an earlier change to the campaign is still in progress. Plinth will keep trying until the platform responds. Call getCampaign to see the current state.",
    { members: { ...about }, headers: { 'retry-after': '15' } },
  );

/** Repeating the change would undo a later request. */
export const changeReplaced = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'ad_platform_timeout',
    'A later request for the same campaign replaced this one before the ad platform confirmed it. Call getCampaign to see the current state.',
    { members: { ...about }, retrySafe: false },
  );

export const launchInProgress = (about: Omit<AboutCampaign, 'campaign_state'>) =>
  new Problem(
    'conflict',
    'launch_in_progress',
    "This campaign's launch is still in progress. Check it with getLaunch, and try again once it has finished.",
    { members: { campaign_state: 'unknown', ...about }, retrySafe: false, headers: { 'retry-after': '5' } },
  );

export const alreadyLaunched = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'already_launched',
    'A campaign has already been launched from this draft, so no second one was created. Retrieve it by its `campaign_id`, or send a different `draft_id`.',
    { members: { ...about }, retrySafe: false },
  );

export const workspaceBillingHold = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'workspace_billing_hold',
    "The workspace is on billing hold, so its campaigns can't run. Ask the operator to lift the hold, then send the request again.",
    { members: { ...about }, retrySafe: true },
  );

export const accountBillingHold = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'account_billing_hold',
    'The advertising account is suspended, or its billing is not approved. Fix the problem on the ad platform, then send the request again.',
    { members: { ...about }, retrySafe: true },
  );

export const paymentProviderUnavailable = () =>
  new Problem(
    'unavailable',
    'payment_provider_unavailable',
    'The payment provider did not confirm whether the workspace has a card. Nothing was changed. Try again in a minute.',
    { headers: { 'retry-after': '60' } },
  );

export const paymentMethodRequired = () =>
  new Problem(
    'payment_required',
    'payment_method_required',
    'The workspace has no card on file. Add one with startBillingSetup, then send the request again.',
  );

export const accountNotActive = () =>
  new Problem(
    'payment_required',
    'account_not_in_good_standing',
    'The ad platform has not activated the advertising account, or has closed it. Check its `status` with getAdsAccount.',
  );

export const trackingNotVerified = (about: AboutCampaign) =>
  new Problem(
    'conflict',
    'tracking_not_verified',
    'Conversion tracking is not verified, so the campaign stays paused. Install tracking and call verifyTracking. The campaign is then enabled, unless something else keeps it paused.',
    { members: { ...about } },
  );

export const campaignRemoved = () =>
  new Problem('conflict', 'campaign_removed', "The campaign was deleted and can't be restored. Launch a new one.", {
    retrySafe: false,
  });

export const locationsNotImported = () =>
  new Problem(
    'unavailable',
    'locations_not_imported',
    "The ad platform's locations have not been imported, so a campaign could be shown in the wrong places. Ask the operator to run `plinth geo import FILE`.",
    { retrySafe: false },
  );
