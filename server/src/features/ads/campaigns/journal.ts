// A campaign's journal in the API: the launch, each platform request with its outcome, and the next action.
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { answer, count, createdDate, described, id, oneOf, timestamp } from '../../../kit/http/shapes.ts';
import type { Db, Tables } from '../../../tables.ts';
import type { CampaignState } from '../problems.ts';
import { findLaunchOfCampaign, readProgress } from '../store/campaigns.ts';
import { type JournalRow, listSteps } from '../store/journal.ts';
import type { CampaignRow } from '../store/rows.ts';

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
  number: described(count, 'The number of the step.', 3),
  name: described(z.string(), 'The name of the step.', 'create'),
  at: described(timestamp, 'When the step ended.', '2026-11-16T09:12:44.000Z'),
  outcome: described(
    oneOf('applied', 'refused', 'unknown', 'skipped'),
    'The outcome of the step. `unknown` means that there was no answer.',
  ),
  platform_request_id: described(
    z.string().nullable(),
    "The ad platform's id of the request; null if there is none.",
    'Zx81kQ0wR2mT4vYb',
  ),
  detail: described(z.string(), 'A description of what happened.', 'The campaign was created and is paused.'),
});

export const LaunchJournal = answer('LaunchJournal', {
  launch_id: described(
    id.nullable(),
    'The id of the launch; null for a campaign that was found at the ad platform.',
    '0198c211-0391-7d02-b1c9-5e0f2a7788aa',
  ),
  state: described(oneOf(...launchStates), 'The state of the launch: docs/api/ads.md#campaigns.'),
  launch_key: described(
    z.string(),
    "The key at the end of the campaign's name at the ad platform; empty for a campaign that was found there.",
    'MFZWIZLTOQ',
  ),
  campaign_id: described(
    id.nullable(),
    'The id of the campaign; null if the launch created none.',
    '0198c211-03a4-7b1e-8c55-91d0a7f4e2b6',
  ),
  campaign_state: described(
    oneOf('absent', 'paused', 'live', 'unknown', 'removed'),
    'The last known state of the campaign. `unknown` means that it may be spending.',
  ),
  created_date: createdDate,
  steps: described(z.array(LaunchStep), 'The requests to the ad platform and their outcomes, in order.'),
  next_action: described(
    oneOf('none', 'reconciling', 'fix_billing', 'wire_tracking', 'fix_input'),
    'What to do next. `reconciling` means to wait while Plinth checks the outcome.',
  ),
});
export type LaunchJournal = z.input<typeof LaunchJournal>;

/** Higher than the number of steps in any launch. */
export const maxSteps = 1_000;

/** The data behind getLaunch and getCampaignJournal. `isUncertain` means that a change request has had no response. */
export interface JournalSource {
  /** Undefined for a campaign that was found on the platform. */
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
