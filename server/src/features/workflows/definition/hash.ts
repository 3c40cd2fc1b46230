// Workflow version ids, which are the SHA-256 of the definition's canonical JSON (RFC 8785).
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const hashDefinition = (source: unknown): string =>
  createHash('sha256')
    .update(canonicalize(source) ?? '')
    .digest('hex');
