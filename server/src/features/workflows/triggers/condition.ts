// Trigger conditions, which decide whether an event starts a run.
import type { Jq } from '../../../kit/jq/index.ts';
import type { Trigger } from '../definition/trigger.ts';

/** `busy` means that jq had no capacity, so the condition must be evaluated again. */
export type Verdict = 'met' | 'not_met' | 'busy' | { readonly failure: string };

/** A condition is met unless its value is null or false. */
export async function judgeCondition(
  { condition }: Trigger,
  input: unknown,
  owner: string,
  jq: Pick<Jq, 'evaluate'>,
  signal?: AbortSignal,
): Promise<Verdict> {
  if (condition === undefined) return 'met';
  const result = await jq.evaluate([condition], { input, variables: {}, owner }, signal);
  if ('values' in result) return result.values[0] === null || result.values[0] === false ? 'not_met' : 'met';
  return result.kind === 'busy' ? 'busy' : { failure: result.error };
}
