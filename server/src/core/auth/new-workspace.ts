// Owns the one proof that no guard issues: for a workspace that the caller has just created.
import { issueProof } from './issue-proof.ts';
import type { Plan } from './plans.ts';
import type { SelfAccess, WorkspaceAccess } from './proofs.ts';

/** Call this in the transaction that inserted the workspace with the caller as its owner. */
export const issueForNewWorkspace = ({ caller }: SelfAccess, workspace_id: string, plan: Plan): WorkspaceAccess =>
  issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: 'owner' });
