// The platform's campaign names: `<campaign name> [<launch key>]`. The key makes the name unique, so a campaign
// can be found even if its creation request got no response.

export const toPlatformName = (campaignName: string, launchKey: string): string => `${campaignName} [${launchKey}]`;

/** Removes the key if it is one of `launchKeys`. Other names may have similar endings, such as `Sale [NEWSLETTER]`. */
export function toCampaignName(platformName: string, launchKeys: ReadonlySet<string>): string {
  const key = findLaunchKey(platformName);
  return key !== undefined && launchKeys.has(key) ? platformName.slice(0, -(key.length + 3)) : platformName;
}

/** Returns the name's launch key (launch/identity.ts), or undefined if it does not end in one. */
export const findLaunchKey = (platformName: string): string | undefined =>
  / \[([A-Z2-7]{10})\]$/.exec(platformName)?.[1];
