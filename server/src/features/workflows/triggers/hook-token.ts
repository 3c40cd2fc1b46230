// Hook tokens. The token in the address identifies a workflow with the trigger `webhook`. Editors can read the
// address.
import { hashHookToken, mintHookToken } from '../../../core/auth/tokens.ts';
import { rewrapEach, type SecretLocation, type Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import { listHooksUnderOldKeys, saveRewrappedHook } from '../store/hooks.ts';
import type { WorkflowRow } from '../store/rows.ts';

export interface HookDeps {
  readonly secrets: Secrets;
  readonly cellCode: string;
  readonly baseUrl: string;
}

export interface HookColumns {
  readonly hook_token_hash: string | null;
  readonly hook_token_sealed: string | null;
}

export const noHook: HookColumns = { hook_token_hash: null, hook_token_sealed: null };

export function createHook(workflowId: string, { secrets, cellCode }: HookDeps): HookColumns {
  const token = mintHookToken(cellCode);
  const hook_token_hash = hashHookToken(token, cellCode) ?? null;
  return { hook_token_hash, hook_token_sealed: secrets.seal(token, toLocation(workflowId)) };
}

/** The address that starts the workflow. Anyone who knows it can start a run, so only editors see it. */
export const openHookUrl = (
  { id, hook_token_sealed }: Pick<WorkflowRow, 'id' | 'hook_token_sealed'>,
  { secrets, baseUrl }: HookDeps,
): string | null =>
  hook_token_sealed === null ? null : `${baseUrl}/api/hooks/${secrets.open(hook_token_sealed, toLocation(id))}`;

/** Rewraps a batch of tokens that use an older master key. Returns the number of tokens. */
export const rewrapHooks = async (db: Db, secrets: Secrets, currentKeyId: string): Promise<number> =>
  rewrapEach('hook tokens', await listHooksUnderOldKeys(db, currentKeyId, 500), async (row) => {
    const sealed = secrets.rewrap(row.hook_token_sealed, toLocation(row.id));
    if (sealed !== undefined) await saveRewrappedHook(db, row, sealed);
  });

const toLocation = (workflowId: string): SecretLocation => ['workflows', workflowId, 'hook_token_sealed'];
