// Owns the names of campaigns at the platform: `<campaign name> [<launch key>]`. The key makes the name unique, so that a campaign is
// found again after a request without an answer.

export const toPlatformName = (campaignName: string, launchKey: string): string => `${campaignName} [${launchKey}]`;

/** Removes the key if it is one of `launchKeys`. Somebody may have named a campaign `Sale [NEWSLETTER]`. */
export function toCampaignName(platformName: string, launchKeys: ReadonlySet<string>): string {
  const key = findLaunchKey(platformName);
  return key !== undefined && launchKeys.has(key) ? platformName.slice(0, -(key.length + 3)) : platformName;
}

/** What has the form of a launch key (launch/identity.ts) at the end of the name. */
export const findLaunchKey = (platformName: string): string | undefined =>
  / \[([A-Z2-7]{10})\]$/.exec(platformName)?.[1];
