// An account's goals: the standard conversion actions, identified by name. Creating them is idempotent, because
// the platform refuses duplicate names.
import type { AdPlatform, PlatformConversionAction, Reason } from '../../../gateways/ad-platform/index.ts';
import { Problem } from '../../../kit/problem.ts';
import { platformUnavailable } from '../accounts/account.ts';
import type { MappingRow, ReadyAccount } from '../store/rows.ts';
import { type ConversionType, conversionTypes } from './contract.ts';

export type GoalPlatform = Pick<AdPlatform, 'createConversionActions' | 'listConversionActions' | 'readAccount'>;
export type Goal = PlatformConversionAction;

const nameGoal = (type: ConversionType): string => `Plinth ${type}`;

export const findStandardGoal = (goals: readonly Goal[], type: ConversionType): Goal | undefined =>
  goals.find(({ name }) => name === nameGoal(type));

/** The goal that a mapping reports to: the goal that it names, or the standard goal for its type. */
export const findGoalOf = (goals: readonly Goal[], mapping: MappingRow): Goal | undefined =>
  mapping.conversion_action_id === ''
    ? findStandardGoal(goals, mapping.conversion_type)
    : goals.find(({ id }) => id === mapping.conversion_action_id);

/** The account's conversion actions, oldest first. */
export async function listGoals(
  platform: GoalPlatform,
  account: ReadyAccount,
  unavailable: () => Problem = platformUnavailable,
): Promise<readonly Goal[]> {
  const found = await platform.listConversionActions(account.platform_customer_id);
  if (found.outcome !== 'read') throw unavailable();
  return found.result;
}

/** The account's tag id. It is known before the goals' tags are published, and empty until the account has a goal. */
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
 * Creates the missing goals, and returns all the account's goals. `record` gets the categories of existing goals as
 * soon as they are known, because a later step may fail.
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
  // The list is authoritative. It includes existing goals with the same name, and goals created by a request that got
  // no response.
  const goals = await listGoals(platform, account, goalsUncertain);
  await record(conversionTypes.filter(hasGoal(goals)));
  if (change.outcome === 'unknown' && !missing.every(hasGoal(goals))) throw goalsUncertain();
  const failures = missing.flatMap((type, index) => (hasGoal(goals)(type) ? [] : (results[index]?.reasons ?? [])));
  if (failures.length > 0) throw toRefusal(failures, goalsUncertain);
  return goals;
}

/** Used once the request to create goals has been, or may have been, sent. */
export const goalsUncertain = () =>
  new Problem(
    'unavailable',
    'ad_platform_unavailable',
    'The ad platform stopped responding. Some conversion goals may have been created. Send the request again; existing goals are not duplicated.',
    { headers: { 'retry-after': '30' } },
  );

/** Problems that only the operator can fix are not the caller's mistake. */
function toRefusal(reasons: readonly Reason[], unavailable: () => Problem): Problem {
  if (reasons.some(({ kind }) => kind === 'operator' || kind === 'busy')) return unavailable();
  return new Problem(
    'bad_request',
    'platform_rejected',
    'The ad platform rejected the conversion goals. Fix the problems listed in `platform_reasons`, then send the request again. Existing goals are not duplicated.',
    { members: { platform_reasons: reasons.map(({ code, message }) => ({ code, message })) } },
  );
}
