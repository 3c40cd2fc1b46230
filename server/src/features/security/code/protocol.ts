// Owns what the worker and the process that reads code send each other: one request at a time, one answer each.
import type { FileSecrets } from '../secrets/secrets.ts';
import type { FileFindings } from './scan-file.ts';

export type ChildRequest =
  /** Answered once the process has started. */
  | { readonly kind: 'ping' }
  /** Remembers a file of code, for itself and for those that import it. */
  | { readonly kind: 'add'; readonly path: string; readonly code: string }
  | { readonly kind: 'secrets'; readonly path: string; readonly content: string; readonly key: Uint8Array }
  | { readonly kind: 'read'; readonly path: string };

export type ChildAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'added' }
  | ({ readonly kind: 'secrets' } & FileSecrets)
  | { readonly kind: 'read'; readonly findings: FileFindings }
  /** The request could not be done, for example because the file is nested too deeply. The process continues. */
  | { readonly kind: 'failed' };
