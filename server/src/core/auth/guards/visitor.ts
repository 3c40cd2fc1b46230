// The guards for routes that need no credential.
import type { Exchange } from '../../../kit/http/exchange.ts';
import { issueProof } from '../issue-proof.ts';
import type { OptionalUserAccess, Visitor } from '../proofs.ts';
import { lookUpWorkspace } from '../request/lookup.ts';
import type { Guard } from './guard.ts';

/** Needs no credential. */
export const anyone: Guard<Visitor> = {
  needs: 'none',
  choosesWorkspace: false,
  refusals: [],
  lookUp: async () => undefined,
  decide: (_lookup, exchange) => issueProof<Visitor>(toVisitor(exchange)),
};

/** Like `anyone`, for routes that start a browser session. Pages of other sites can't call them. */
export const anyoneHere: Guard<Visitor> = {
  ...anyone,
  startsSession: true,
  refusals: [{ status: 403, code: 'origin_not_allowed' }],
};

/**
 * Needs no credential. If a browser session was sent, the proof includes the signed-in person. Otherwise the route may
 * start one.
 */
export const anyoneWithSession: Guard<OptionalUserAccess> = {
  needs: anyone.needs,
  choosesWorkspace: false,
  readsSession: true,
  startsSession: true,
  refusals: [
    { status: 401, code: 'credentials_invalid' },
    { status: 403, code: 'origin_not_allowed' },
  ],
  lookUp: (db, hash) => lookUpWorkspace(db, hash, null),
  decide: (session, exchange) =>
    issueProof<OptionalUserAccess>({
      ...toVisitor(exchange),
      person: session?.user_id && session.email ? { id: session.user_id, email: session.email } : null,
    }),
};

export const toVisitor = (exchange: Exchange) => ({
  request_id: exchange.requestId,
  ip: exchange.address,
  user_agent: exchange.header('user-agent'),
});
