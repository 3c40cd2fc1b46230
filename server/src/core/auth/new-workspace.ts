// Owns the one proof that no guard can issue: for a workspace that its creator has just inserted.
import { issueProof } from './issue-proof.ts';
import type { Plan } from './plans.ts';
import type { SelfAccess, WorkspaceAccess } from './proofs.ts';

/** Call it in the transaction that inserted the workspace with this caller as its owner. */
export const issueForNewWorkspace = ({ caller }: SelfAccess, workspace_id: string, plan: Plan): WorkspaceAccess =>
  issueProof<WorkspaceAccess>({ caller, workspace_id, plan, role: 'owner' });
