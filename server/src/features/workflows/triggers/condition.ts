// Owns the condition of a trigger: whether what happened starts a run.
import type { Jq } from '../../../kit/jq/index.ts';
import type { Trigger } from '../definition/trigger.ts';

/** `busy`: jq had no time for it, so that it is to be evaluated again. */
export type Verdict = 'met' | 'not_met' | 'busy' | { readonly failure: string };

/** A condition is not met by null and false. */
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
