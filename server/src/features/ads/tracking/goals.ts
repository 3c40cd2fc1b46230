// Owns the goals of an account: the conversion actions of the standard set, each found by its name. Creating them is safe to
// repeat, because the platform refuses a second one with the same name.
import type { AdPlatform, PlatformConversionAction, Reason } from '../../../gateways/ad-platform/index.ts';
import { Problem } from '../../../kit/problem.ts';
import { platformUnavailable } from '../accounts/account.ts';
import type { ReadyAccount } from '../accounts/contract.ts';
import { type ConversionType, conversionTypes, type MappingRow } from './contract.ts';

export type GoalPlatform = Pick<AdPlatform, 'createConversionActions' | 'listConversionActions' | 'readAccount'>;
export type Goal = PlatformConversionAction;

const nameGoal = (type: ConversionType): string => `Plinth ${type}`;

export const findStandardGoal = (goals: readonly Goal[], type: ConversionType): Goal | undefined =>
  goals.find(({ name }) => name === nameGoal(type));

/** The goal that a mapping reports to: the one that it names, or else that of its type. */
export const findGoalOf = (goals: readonly Goal[], mapping: MappingRow): Goal | undefined =>
  mapping.conversion_action_id === ''
    ? findStandardGoal(goals, mapping.conversion_type)
    : goals.find(({ id }) => id === mapping.conversion_action_id);

/** All conversion actions of the account, oldest first. */
export async function listGoals(
  platform: GoalPlatform,
  account: ReadyAccount,
  unavailable: () => Problem = platformUnavailable,
): Promise<readonly Goal[]> {
  const found = await platform.listConversionActions(account.platform_customer_id);
  if (found.outcome !== 'read') throw unavailable();
  return found.result;
}

/** The id of the account's tag. Known before the tags of goals are published; empty until the account has a goal. */
export async function readConversionId(
  platform: GoalPlatform,
  account: ReadyAccount,
  goals: readonly Goal[],
  unavailable: () => Problem = platformUnavailable,
): Promise<string> {
  const published = goals.find(({ conversionId }) => conversionId !== null)?.conversionId;
  if (published) return published;
  if (goals.length === 0) return '';
  const found = await platform.readAccount(account.platform_customer_id);
  if (found.outcome !== 'read') throw unavailable();
  const id = found.result?.conversionTrackingId ?? null;
  return id === null ? '' : `AW-${id}`;
}

/**
 * Creates the goals that are missing, and returns all goals of the account. `record` gets the categories whose goals exist, as soon
 * as that is known, because what follows may fail.
 */
export async function ensureGoals(
  platform: GoalPlatform,
  account: ReadyAccount,
  record: (existing: readonly ConversionType[]) => Promise<void>,
): Promise<readonly Goal[]> {
  const known = await listGoals(platform, account);
  const hasGoal = (goals: readonly Goal[]) => (type: ConversionType) => findStandardGoal(goals, type) !== undefined;
  await record(conversionTypes.filter(hasGoal(known)));
  const missing = conversionTypes.filter((type) => !hasGoal(known)(type));
  if (missing.length === 0) return known;
  const change = await platform.createConversionActions(
    account.platform_customer_id,
    missing.map((type) => ({ name: nameGoal(type), category: type })),
  );
  if (change.outcome === 'unavailable') throw platformUnavailable();
  if (change.outcome === 'refused') throw toRefusal(change.reasons, platformUnavailable);
  const results = change.outcome === 'applied' ? change.result : [];
  await record(missing.filter((_, index) => results[index]?.resourceName));
  // The list decides: it has what a request without an answer created, and what was there under the same name.
  const goals = await listGoals(platform, account, goalsUncertain);
  await record(conversionTypes.filter(hasGoal(goals)));
  if (change.outcome === 'unknown' && !missing.every(hasGoal(goals))) throw goalsUncertain();
  const failures = missing.flatMap((type, index) => (hasGoal(goals)(type) ? [] : (results[index]?.reasons ?? [])));
  if (failures.length > 0) throw toRefusal(failures, goalsUncertain);
  return goals;
}

/** Once the request to create goals was sent, or may have been. */
export const goalsUncertain = () =>
  new Problem(
    'unavailable',
    'ad_platform_unavailable',
    'The ad platform stopped answering. Conversion goals may have been created. Send the request again: no goal is created twice.',
    { headers: { 'retry-after': '30' } },
  );

/** What only the operator can change is not the caller's mistake. */
function toRefusal(reasons: readonly Reason[], unavailable: () => Problem): Problem {
  if (reasons.some(({ kind }) => kind === 'operator' || kind === 'busy')) return unavailable();
  return new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform refused to create conversion goals. See `platform_reasons`, and send the request again afterwards: goals that exist are not created twice.',
    { members: { platform_reasons: reasons.map(({ code, message }) => ({ code, message })) } },
  );
}
