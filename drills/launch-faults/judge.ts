// Judges the drill by comparing Plinth's lists and responses with the platform's own journal.
import type { AdPlatformEntry } from '../../sandbox/src/ad-platform/server.ts';
import { type Attempt, isAmbiguous, type ListedCampaign } from './callers.ts';
import type { DrillApp } from './environment.ts';
import { type CampaignAtPlatform, hadStatus, listFaultTimes } from './platform-view.ts';

export interface Lists {
  readonly app: DrillApp;
  readonly listed: readonly ListedCampaign[];
}

/** Describes each difference between the platform and Plinth's lists. There should be none. */
export function compare(lists: readonly Lists[], atPlatform: readonly CampaignAtPlatform[]): string[] {
  const faults: string[] = [];
  const known = new Map<string, ListedCampaign>();
  for (const { listed } of lists)
    for (const campaign of listed) {
      if (campaign.platform_campaign_id === '') faults.push(`listed without an id: ${campaign.campaign_name}`);
      else if (known.has(campaign.platform_campaign_id)) faults.push(`listed twice: ${campaign.campaign_name}`);
      known.set(campaign.platform_campaign_id, campaign);
      if (campaign.primary_status_reasons.includes('SERVICE_LAUNCH_UNCONFIRMED') && campaign.status === 'ENABLED')
        faults.push(`still unconfirmed: ${campaign.campaign_name}`);
    }
  for (const { id, name, status, budgetMicros } of atPlatform) {
    const campaign = known.get(id);
    known.delete(id);
    if (campaign === undefined) faults.push(`not listed: ${name}, ${status}`);
    else if (campaign.status !== status) faults.push(`${name} is ${status}, and listed as ${campaign.status}`);
    else if (status !== 'REMOVED' && campaign.daily_budget_micros !== budgetMicros)
      faults.push(`${name} has the budget ${budgetMicros}, and is listed with ${campaign.daily_budget_micros}`);
  }
  for (const { campaign_name, platform_campaign_id } of known.values())
    if (platform_campaign_id !== '') faults.push(`not at the platform: ${campaign_name}`);
  return faults;
}

/** Lists drafts that have more than one campaign. Campaign names end with the launch key in brackets. */
export function listDuplicates(atPlatform: readonly CampaignAtPlatform[]): string[] {
  const byDraft = Map.groupBy(atPlatform, ({ appId, name }) => `${appId} ${name.replace(/ \[\w+\]$/, '')}`);
  return [...byDraft].flatMap(([draft, campaigns]) => (campaigns.length > 1 ? draft : []));
}

/**
 * Lists responses with status 200 that were untrue: the campaign never had the status between the request and the
 * response.
 */
export function listUntrueAnswers(
  attempts: readonly Attempt[],
  lists: readonly Lists[],
  atPlatform: readonly CampaignAtPlatform[],
): string[] {
  const meant = { pause: 'PAUSED', resume: 'ENABLED', delete: 'REMOVED' } as const;
  const platformIds = new Map(
    lists.flatMap(({ listed }) => listed.map((each) => [each.id, each.platform_campaign_id])),
  );
  const byId = new Map(atPlatform.map((campaign) => [campaign.id, campaign]));
  return attempts.flatMap(({ kind, of, status, sentAt, answeredAt }) => {
    if (status !== 200 || (kind !== 'pause' && kind !== 'resume' && kind !== 'delete')) return [];
    const campaign = byId.get(platformIds.get(of) ?? '');
    if (campaign === undefined) return [`${kind} of a campaign that the platform does not have`];
    return hadStatus(campaign, meant[kind], sentAt, answeredAt) ? [] : [`${kind} of ${campaign.name}`];
  });
}

/** Lists campaigns that were enabled between the confirmed deletion of their app and its restoration. */
export function listEnabledOfDeleted(
  attempts: readonly Attempt[],
  atPlatform: readonly CampaignAtPlatform[],
  restoredAt: number,
): string[] {
  return attempts.flatMap(({ kind, of, status, answeredAt }) =>
    kind !== 'delete_app' || status !== 200
      ? []
      : atPlatform
          .filter(
            ({ appId, ...campaign }) =>
              appId === of && hadStatus({ appId, ...campaign }, 'ENABLED', answeredAt, restoredAt),
          )
          .map(({ name }) => name),
  );
}

/** The time from each ambiguous response, or from the last fault after it, to a definite response, in ms. */
export function measureSettling(
  attempts: readonly Attempt[],
  journal: readonly AdPlatformEntry[],
  atPlatform: readonly CampaignAtPlatform[],
): number[] {
  const customers = new Map(atPlatform.map(({ appId, customerId }) => [appId, customerId]));
  const faultsOf = new Map([...customers].map(([appId, id]) => [appId, listFaultTimes(journal, id)]));
  const times: number[] = [];
  for (const [, all] of Map.groupBy(attempts, ({ kind, of }) => `${kind} ${of}`)) {
    let since: number | undefined;
    let answeredUntil = 0;
    for (const attempt of all.toSorted((a, b) => a.answeredAt - b.answeredAt)) {
      if (isAmbiguous(attempt)) {
        // If one of two concurrent requests is lost and the other gets a response, the caller knows the outcome.
        if (attempt.sentAt > answeredUntil) since ??= attempt.answeredAt;
        continue;
      }
      answeredUntil = attempt.answeredAt;
      if (since === undefined) continue;
      const from = since;
      const faults = (faultsOf.get(attempt.app.id) ?? []).filter((at) => at >= from && at <= attempt.answeredAt);
      times.push(attempt.answeredAt - Math.max(from, ...faults));
      since = undefined;
    }
    if (since !== undefined) times.push(Number.POSITIVE_INFINITY);
  }
  return times;
}
