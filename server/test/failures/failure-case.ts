// Owns the form of a labelled failure.
import type { FailureClass } from '../../src/features/workflows/analysis/classify.ts';

export interface FailureCase {
  /** What goes wrong, in a person's words. */
  readonly name: string;
  /** What an experienced person would call it. */
  readonly label: FailureClass;
  /** The tasks of the workflow. */
  readonly do: readonly object[];
  readonly input?: unknown;
  /** Where the workflow runs; by default in a workspace with enough credits. */
  readonly place?: 'no credits' | 'few credits';
}

/** Words in braces in the cases, and what stands for them while they run. */
export interface Places {
  /** An HTTP server: `/status/404` answers 404, and other paths misbehave as their names say. */
  readonly receiver: string;
  /** HTTPS with the certificate of an authority that nobody knows. */
  readonly untrusted: string;
  /** HTTPS with a certificate for another name. */
  readonly misnamed: string;
  /** HTTPS at a port where plain HTTP is spoken. */
  readonly plain: string;
  /** A port where nobody listens. */
  readonly closed: string;
  /** A record of the entity Task, which another user of the app has created. */
  readonly task: string;
  /** A user of the app, with the role `user`. */
  readonly user: string;
  readonly agent: string;
}

/** One HTTP call. */
export const http = (endpoint: string, more: object = {}, common: object = {}) => [
  { call_it: { call: 'http', with: { method: 'get', endpoint, ...more }, ...common } },
];
