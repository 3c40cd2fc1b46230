// Reads assets: a session's assets, the app's library, and a campaign's assets.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { type Answer, answerWithFollowUp, withNotes } from '../../../kit/http/answer.ts';
import { notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { findSession, listLibrary, listSessionAssets } from '../store/assets.ts';
import { findCampaign } from '../store/campaigns.ts';
import {
  type AssetLists,
  type AssetQuery,
  type ImageAddress,
  isMade,
  presentAsset,
  presentLibraryAsset,
} from './contract.ts';
import { countRead, type DurableDeps, listDurable } from './durable.ts';

const maxLibrary = 5_000;

export interface LibraryDeps extends DurableDeps {
  readonly imageAddress: ImageAddress;
}

export async function listAssets(
  db: Db,
  deps: LibraryDeps,
  access: AppAccess,
  { session_id, campaign_id }: AssetQuery,
  now: Date,
): Promise<Answer<AssetLists>> {
  if (campaign_id === undefined) return listGenerated(db, deps, access, session_id, now);
  const headers = await countRead(db, deps, access);
  const campaign = typeof campaign_id === 'string' ? await findCampaign(db, access, campaign_id) : undefined;
  if (campaign === undefined) throw notFound('campaign_not_found');
  const { body, notes } = await listGenerated(db, deps, access, session_id, now);
  return answerWithFollowUp(body, async (db) => {
    const attached = await listDurable(db, deps, campaign);
    return withNotes({ ...body, durable: attached.durable }, { ...notes, ...attached.notes, headers });
  });
}

async function listGenerated(
  db: Db,
  { imageAddress }: LibraryDeps,
  access: AppAccess,
  session_id: AssetQuery['session_id'],
  now: Date,
): Promise<Answer<AssetLists>> {
  if (session_id !== undefined) {
    const id = typeof session_id === 'string' ? session_id : undefined;
    const session = id === undefined ? [] : await listSession(db, access, id, imageAddress, now);
    return withNotes({ session }, id === undefined ? { ignored: ['session_id'] } : {});
  }
  const rows = await listLibrary(db, access, maxLibrary + 1);
  const library = rows.slice(0, maxLibrary).map((row) => presentLibraryAsset(row, imageAddress));
  return withNotes({ library }, rows.length > maxLibrary ? { truncated: true } : {});
}

/** Empty while the session is running, or if it has expired or never existed. */
async function listSession(db: Db, access: AppAccess, id: string, addressOf: ImageAddress, now: Date) {
  const session = await findSession(db, access, id);
  if (session?.state !== 'ended' || session.expires_at <= now) return [];
  const rows = await listSessionAssets(db, session);
  return rows.filter(isMade).map((row) => presentAsset(row, addressOf));
}
