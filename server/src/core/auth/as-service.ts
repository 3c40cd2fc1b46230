// Owns the proof for what Plinth does with an app by itself, such as verifying its tracking after it was published. Nobody calls, so
// that no role decides.
import type { AnyDb } from '../../kit/db/database.ts';
import { issueProof } from './issue-proof.ts';
import { lookUpAnyApp, toAppRow } from './lookup.ts';
import type { ServiceAccess } from './proofs.ts';

/** Undefined if the app or its workspace was deleted. */
export async function findAccessAsService(
  db: AnyDb,
  { workspace_id, app_id }: { readonly workspace_id: string; readonly app_id: string },
): Promise<ServiceAccess | undefined> {
  const lookup = await lookUpAnyApp(db, app_id);
  const app = lookup && toAppRow(lookup);
  if (app === undefined || app.workspace_id !== workspace_id) return undefined;
  return issueProof<ServiceAccess>({ isService: true, workspace_id, app });
}
