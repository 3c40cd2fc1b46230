// Owns taking a request's share of the database (kit/db/shares.ts), and the answer if there is none.
import { NoShare, type Release, type Shares } from '../db/shares.ts';
import { Problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';

const noShare: Release = () => {};

/** A request in no workspace takes no share: its work is short, and its rate is limited per address or person. */
export async function takeShare({ actor, operation }: Exchange, shares: Shares): Promise<Release> {
  const { work = 'short' } = operation;
  if (!actor?.workspaceId || work === 'outside' || work === 'reserved') return noShare;
  try {
    return await shares.take(work, { owner: actor.workspaceId, part: actor.appId });
  } catch (error) {
    throw error instanceof NoShare ? busy() : error;
  }
}

const busy = () =>
  new Problem(
    'unavailable',
    'busy',
    'Too many requests of this workspace or app use the database. Nothing was changed. Retry in a moment.',
    { headers: { 'retry-after': '1' } },
  );
