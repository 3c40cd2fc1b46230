// Owns the id of a version of a workflow: the SHA-256 of its definition in canonical form, in which keys are sorted (RFC 8785).
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const hashDefinition = (source: unknown): string =>
  createHash('sha256')
    .update(canonicalize(source) ?? '')
    .digest('hex');
