// Access to hooks. Anyone who knows the token in a hook's address may call the hook. No other credential is
// checked.
import { notFound } from '../../../kit/problem.ts';
import { issueProof } from '../issue-proof.ts';
import type { HookAccess } from '../proofs.ts';
import { type HookLookup, prepareHookLookup, toAppRow } from '../request/lookup.ts';
import { hashHookToken } from '../tokens.ts';
import type { Guard } from './guard.ts';
import { toVisitor } from './visitor.ts';

/** Guards a row of `table` that has a hook. For open routes whose path contains the hook's token as `hook_token`. */
export function hookGuard(noun: string, table: string): Guard<HookAccess> {
  const notFoundCode = `${noun}_not_found`;
  const lookUpHook = prepareHookLookup(table);
  return {
    needs: 'none',
    choosesWorkspace: false,
    refusals: [{ status: 404, code: notFoundCode }],
    lookUp: async () => undefined,
    lookUpHook: (db, { params }, cellCode) => lookUpHook(db, hashHookToken(params.hook_token ?? '', cellCode)),
    decide: (lookup: HookLookup | undefined, exchange) => {
      const app = lookup && toAppRow(lookup);
      if (lookup === undefined || app === undefined) throw notFound(notFoundCode);
      const { workspace_id, plan, hook_id } = lookup;
      return issueProof<HookAccess>({ ...toVisitor(exchange), workspace_id, plan, app, hook_id });
    },
  };
}
