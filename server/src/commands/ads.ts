// `plinth ads report`, which prints the differences between the campaigns in Plinth and on the ad platform.
import { compareCampaigns } from '../app/advertising.ts';
import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from '../kit/db/database.ts';
import type { Tables } from '../tables.ts';
import { parseArguments, UsageError } from './arguments.ts';
import { adsUsage } from './usages.ts';

export async function ads(args: string[]): Promise<void> {
  const { words } = parseArguments(args, { usage: adsUsage, maxWords: 1 });
  if (words[0] !== 'report') throw new UsageError(adsUsage);
  const config = readConfig();
  if (config.ADS_PLATFORM_URL === undefined)
    throw new ConfigError('This installation has no ad platform. Set ADS_PLATFORM_URL and run the command again.');
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 4 });
  try {
    const { accounts, campaigns, otherCampaigns, differences, unread } = await compareCampaigns(db, config);
    console.log(`compared ${campaigns} campaigns in ${accounts - unread.length} of ${accounts} accounts`);
    if (otherCampaigns > 0)
      console.log(`left out ${otherCampaigns} enabled campaigns of types that Plinth does not manage`);
    for (const { app_id, customer_id } of unread) console.log(`not read: account ${customer_id} of app ${app_id}`);
    for (const { kind, app_id, customer_id, platform_campaign_id, campaign_id, ours, theirs } of differences)
      console.log(
        `${kind}: campaign ${platform_campaign_id} in account ${customer_id}, app ${app_id}${campaign_id && `, campaign ${campaign_id}`}: Plinth has ${ours}, the platform has ${theirs}`,
      );
    if (differences.length > 0) console.log(`Differences: ${differences.length}`);
    else console.log(unread.length > 0 ? 'No difference in the accounts that were read' : 'No difference');
    if (differences.length + unread.length > 0) process.exitCode = 1;
  } finally {
    await close();
  }
}
