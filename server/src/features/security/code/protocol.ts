// The messages between the worker and the code-reading process: one request at a time, with one reply each.
import type { FileSecrets } from '../secrets/secrets.ts';
import type { FileFindings } from './scan-file.ts';

export type ChildRequest =
  /** The process replies once it has started. */
  | { readonly kind: 'ping' }
  /** Stores a file's code, so the file and its importers can be read. */
  | { readonly kind: 'add'; readonly path: string; readonly code: string }
  | { readonly kind: 'secrets'; readonly path: string; readonly content: string; readonly key: Uint8Array }
  | { readonly kind: 'read'; readonly path: string };

export type ChildAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'added' }
  | ({ readonly kind: 'secrets' } & FileSecrets)
  | { readonly kind: 'read'; readonly findings: FileFindings }
  /** The request failed, for example because the file is nested too deeply. The process keeps running. */
  | { readonly kind: 'failed' };
