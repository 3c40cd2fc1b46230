// Owns the issuing of access proofs. Only core/auth imports this file, after it has decided; a dependency rule enforces
// it. Features that create what they then need access to call `issueForNewWorkspace`.
import type { DataAccess, proof, SelfAccess, Visitor } from './proofs.ts';

export const issueProof = <Proof extends SelfAccess | Visitor | DataAccess>(facts: Omit<Proof, typeof proof>): Proof =>
  facts as unknown as Proof;
