// Owns the proof for an app that the caller has just created, which no guard could look up.
import { issueProof } from './issue-proof.ts';
import type { AppAccess, AppRow, WorkspaceAccess } from './proofs.ts';

/** Call this in the transaction that inserted the app. */
export const issueForNewApp = (access: WorkspaceAccess, app: AppRow): AppAccess =>
  issueProof<AppAccess>({ ...access, app, app_role: access.role === null ? null : 'owner' });
