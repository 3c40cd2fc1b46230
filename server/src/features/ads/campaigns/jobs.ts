// The jobs that keep our campaign list in sync with the platform.
import type { Job } from '../../../kit/background/workers/schedule.ts';
import { countDifferences } from '../store/accounts.ts';
import { pauseHeldCampaigns } from './holds.ts';
import { type SyncDeps, syncDueAccounts } from './sync.ts';
import { watchCampaigns } from './watch.ts';

export const campaignJobs = (deps: SyncDeps): Job[] => [
  {
    name: 'compare campaigns with the ad platform',
    everyMs: deps.times.syncRetryMs,
    run: (db, now) => syncDueAccounts(db, deps, now),
  },
  {
    name: 'watch campaigns after a request without an answer',
    everyMs: deps.times.reconcileMs,
    run: (db, now) => watchCampaigns(db, deps, now),
  },
  {
    name: 'pause campaigns on billing hold',
    everyMs: deps.times.reconcileMs,
    run: (db, now) => pauseHeldCampaigns(db, deps, now),
  },
];

export const campaignGauges = [
  {
    name: 'plinth_ads_difference',
    help: 'Campaigns that differed from the ad platform when they were last compared, and accounts not compared for three hours (unread)',
    label: 'kind',
    read: countDifferences,
  },
];
