// Reads the ad platform's own journal: all campaigns it has had, with their status history, and which faults affected
// which requests.
import type { AdPlatformEntry } from '../../sandbox/src/ad-platform/server.ts';
import type { Resource } from '../../sandbox/src/ad-platform/state.ts';
import { type FaultKind, faultKinds } from '../../sandbox/src/faults.ts';

export interface StatusTime {
  readonly at: number;
  readonly status: string;
}

export interface CampaignAtPlatform {
  readonly id: string;
  readonly customerId: string;
  /** Read from the account's name, which begins with the app's id. */
  readonly appId: string;
  readonly name: string;
  readonly status: string;
  readonly statuses: readonly StatusTime[];
  readonly budgetMicros: number;
}

export function readCampaigns(journal: readonly AdPlatformEntry[]): CampaignAtPlatform[] {
  const resources = new Map<string, Resource>();
  for (const { changes = [] } of journal)
    for (const [name, resource] of changes) {
      if (resource === null) resources.delete(name);
      else resources.set(name, resource);
    }
  return [...resources].flatMap(([name, campaign]) => {
    const [, customerId = '', id] = /^customers\/(\d+)\/campaigns\/(\d+)$/.exec(name) ?? [];
    if (id === undefined) return [];
    const budget = resources.get(String(campaign.campaignBudget));
    const statuses = campaign._statuses as { at: string; status: string }[];
    return {
      id,
      customerId,
      appId: String(resources.get(`customers/${customerId}`)?.descriptiveName).slice(0, 36),
      name: String(campaign.name),
      status: String(campaign.status),
      statuses: statuses.map(({ at, status }) => ({ at: Date.parse(at), status })),
      budgetMicros: Number(budget?.amountMicros),
    };
  });
}

/** Whether a campaign had the status at any time in the interval. */
export function hadStatus({ statuses }: CampaignAtPlatform, status: string, from: number, to: number): boolean {
  return statuses.some((each, index) => {
    const until = statuses[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    return each.status === status && each.at <= to && until >= from;
  });
}

export const steps = ['account', 'dry_run', 'create', 'enable', 'pause', 'remove', 'update', 'read'] as const;
export type Step = (typeof steps)[number];

/** Returns the step that a request belongs to. Undefined if it belongs to none. */
export function stepOf({ call, body }: AdPlatformEntry): Step | undefined {
  if (call === 'createCustomerClient') return 'account';
  if (call === 'search') return 'read';
  if (call !== 'mutate') return undefined;
  const { mutateOperations = [], validateOnly } = body as {
    mutateOperations?: Record<string, { create?: object; update?: { status?: string }; remove?: string }>[];
    validateOnly?: boolean;
  };
  const ofCampaign = mutateOperations.flatMap(({ campaignOperation }) => campaignOperation ?? []);
  if (ofCampaign.some(({ create }) => create !== undefined)) return validateOnly === true ? 'dry_run' : 'create';
  if (ofCampaign.some(({ remove }) => remove !== undefined)) return 'remove';
  const status = ofCampaign.find(({ update }) => update?.status !== undefined)?.update?.status;
  if (status !== undefined) return status === 'ENABLED' ? 'enable' : 'pause';
  return 'update';
}

/** Counts how often each fault has affected each step. */
export function countFaults(journal: readonly AdPlatformEntry[]): Record<Step, Partial<Record<FaultKind, number>>> {
  const counts = Object.fromEntries(steps.map((step) => [step, {}])) as Record<
    Step,
    Partial<Record<FaultKind, number>>
  >;
  for (const entry of journal) {
    const step = entry.event === 'received' && entry.fault !== undefined ? stepOf(entry) : undefined;
    const fault = entry.fault as FaultKind | undefined;
    if (step !== undefined && fault !== undefined) counts[step][fault] = (counts[step][fault] ?? 0) + 1;
  }
  return counts;
}

export const listMissingFaults = (counts: ReturnType<typeof countFaults>): string[] =>
  steps.flatMap((step) =>
    faultKinds.flatMap((fault) => ((counts[step][fault] ?? 0) > 0 ? [] : [`${fault} at ${step}`])),
  );

/** Returns the times at which faults affected an account's requests. */
export const listFaultTimes = (journal: readonly AdPlatformEntry[], customerId: string): number[] =>
  journal.flatMap(({ event, fault, customer_id, at }) =>
    event === 'received' && fault !== undefined && customer_id === customerId ? Date.parse(at) : [],
  );
