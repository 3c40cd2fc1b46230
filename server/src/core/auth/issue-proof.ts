// Owns the issuing of access proofs. Only core/auth may import this file; a dependency rule enforces it. A feature that
// creates a workspace gets its proof from `issueForNewWorkspace`.
import type { AppUserSelfAccess, DataAccess, proof, SelfAccess, ServiceAccess, Visitor } from './proofs.ts';

/** Asserted, because the mark of a proof exists only as a type. */
export const issueProof = <Proof extends SelfAccess | Visitor | DataAccess | AppUserSelfAccess | ServiceAccess>(
  facts: Omit<Proof, typeof proof>,
): Proof => facts as unknown as Proof;
