// Owns who reaches a hook: whoever knows the token in its address. The token is the only credential that is looked at.
import { notFound } from '../../kit/problem.ts';
import { issueProof } from './issue-proof.ts';
import { type HookLookup, prepareHookLookup, toAppRow } from './lookup.ts';
import type { HookAccess } from './proofs.ts';
import { type Guard, toVisitor } from './resource-guards.ts';
import { hashHookToken } from './tokens.ts';

/** A row of `table` with a hook, whose token the path has as `hook_token`. For open routes. */
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
