// Pauses campaigns whose workspace or account is on billing hold. Campaigns are not resumed automatically.
import type { Db } from '../../../tables.ts';
import { listHeld } from '../store/campaigns.ts';
import { type RecordDeps, recordChange } from './record.ts';

const maxPerRun = 100;
const pause = { kind: 'pause', reasons: ['SERVICE_BILLING_HOLD'], isByCaller: false } as const;

/** Returns the number of recorded pauses. */
export async function pauseHeldCampaigns(db: Db, deps: RecordDeps, now: Date): Promise<number> {
  let paused = 0;
  for (const campaign of await listHeld(db, maxPerRun)) {
    const recorded = await recordChange(db, deps, campaign, pause, now);
    if (recorded?.isNew) paused += 1;
  }
  return paused;
}
