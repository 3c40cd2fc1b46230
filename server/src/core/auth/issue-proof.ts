// Issues access proofs. A dependency rule ensures that only core/auth imports this file. A feature that creates a
// workspace gets its proof from `issueForNewWorkspace`.
import type { AppUserSelfAccess, DataAccess, proof, SelfAccess, ServiceAccess, Visitor } from './proofs.ts';

/** Needs an assertion, because a proof's mark exists only as a type. */
export const issueProof = <Proof extends SelfAccess | Visitor | DataAccess | AppUserSelfAccess | ServiceAccess>(
  facts: Omit<Proof, typeof proof>,
): Proof => facts as unknown as Proof;
