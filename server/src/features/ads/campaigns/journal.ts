// Owns the journal of a campaign as a caller sees it: the launch, each request to the platform with its outcome, and what to do next.
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { answer, count, id, oneOf, timestamp } from '../../../kit/http/shapes.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { CampaignState } from '../problems.ts';
import { findLaunchOfCampaign, readProgress } from '../store/campaigns.ts';
import { type JournalRow, listSteps } from '../store/journal.ts';
import type { CampaignRow } from './contract.ts';

export type LaunchRow = Selectable<Tables['ads_launches']>;

const launchStates = [
  'recorded',
  'account_sent',
  'account_ready',
  'create_sent',
  'created',
  'enable_sent',
  'unknown',
  'live',
  'held',
  'refused',
  'absent',
] as const;

const LaunchStep = answer('LaunchStep', {
  number: count,
  name: z.string(),
  at: timestamp,
  outcome: oneOf('applied', 'refused', 'unknown', 'skipped'),
  platform_request_id: z.string().nullable(),
  detail: z.string(),
});

export const LaunchJournal = answer('LaunchJournal', {
  launch_id: id.nullable(),
  state: oneOf(...launchStates),
  launch_key: z.string(),
  campaign_id: id.nullable(),
  campaign_state: oneOf('absent', 'paused', 'live', 'unknown', 'removed'),
  created_date: timestamp,
  steps: z.array(LaunchStep),
  next_action: oneOf('none', 'reconciling', 'fix_billing', 'wire_tracking', 'fix_input'),
});
export type LaunchJournal = z.input<typeof LaunchJournal>;

/** More than the steps of any launch. */
export const maxSteps = 1_000;

/** For getLaunch and getCampaignJournal. `isUncertain`: a change of the campaign had no answer yet. */
export interface JournalSource {
  /** Undefined for a campaign that was found at the platform. */
  readonly launch: LaunchRow | undefined;
  /** Undefined if the launch created nothing. */
  readonly campaign: CampaignRow | undefined;
  readonly isUncertain: boolean;
  readonly created_date: Date;
  readonly steps: readonly JournalRow[];
}

export function presentLaunchJournal(source: JournalSource): LaunchJournal {
  const { launch, campaign, steps } = source;
  return {
    launch_id: launch?.id ?? null,
    state: launch?.state ?? (campaign?.status === 'ENABLED' ? 'live' : 'held'),
    launch_key: launch?.launch_key ?? '',
    campaign_id: campaign?.id ?? null,
    campaign_state: readCampaignState(source),
    created_date: source.created_date.toISOString(),
    steps: steps.map(({ number, name, at, outcome, platform_request_id, detail }) => ({
      number,
      name,
      at: at.toISOString(),
      outcome,
      platform_request_id,
      detail,
    })),
    next_action: decideNextAction(source),
  };
}

export function readCampaignState({
  launch,
  campaign,
  isUncertain,
}: Omit<JournalSource, 'steps' | 'created_date'>): CampaignState {
  if (campaign === undefined) return 'absent';
  if (isUncertain) return 'unknown';
  switch (launch?.state) {
    case 'recorded':
    case 'account_sent':
    case 'account_ready':
      return 'absent';
    case 'create_sent':
    case 'enable_sent':
    case 'unknown':
      return 'unknown';
    case 'created':
      return 'paused';
    default:
      return toState[campaign.status];
  }
}

const toState = { ENABLED: 'live', PAUSED: 'paused', REMOVED: 'removed' } as const;

function decideNextAction({ launch, campaign, isUncertain }: JournalSource): LaunchJournal['next_action'] {
  if (isUncertain || launch?.ended_date === null) return 'reconciling';
  if (launch?.state === 'refused') return readFailureCode(launch) === 'platform_rejected' ? 'fix_input' : 'none';
  if (campaign === undefined || campaign.status === 'REMOVED') return 'none';
  if (campaign.own_reasons.includes('SERVICE_BILLING_HOLD')) return 'fix_billing';
  return campaign.own_reasons.includes('SERVICE_TRACKING_PENDING') ? 'wire_tracking' : 'none';
}

const readFailureCode = ({ failure }: LaunchRow): string => (failure as { code?: string } | null)?.code ?? '';

export async function getCampaignJournal(
  db: Db,
  { campaign }: AppAccess & { readonly campaign: CampaignRow },
): Promise<Answer<LaunchJournal>> {
  const launch = await findLaunchOfCampaign(db, campaign);
  const { isUncertain } = await readProgress(db, campaign);
  const steps = await listSteps(db, campaign, maxSteps + 1);
  const journal = presentLaunchJournal({
    launch,
    campaign,
    isUncertain,
    created_date: (launch ?? campaign).created_date,
    steps: steps.slice(-maxSteps),
  });
  return withNotes(journal, steps.length > maxSteps ? { truncated: true } : {});
}
