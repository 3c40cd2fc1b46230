// The type of a labelled failure.
import type { FailureClass } from '../../src/features/workflows/analysis/classify.ts';

export interface FailureCase {
  /** The failure, described in plain words. */
  readonly name: string;
  /** The class that an experienced engineer would assign. */
  readonly label: FailureClass;
  /** The workflow's tasks. */
  readonly do: readonly object[];
  readonly input?: unknown;
  /** The workspace in which the workflow runs. By default, it has enough credits. */
  readonly place?: 'no credits' | 'few credits';
}

/** Values for the cases' placeholders in braces. */
export interface Places {
  /** An HTTP server. `/status/404` responds with 404, and other paths misbehave as their names suggest. */
  readonly receiver: string;
  /** HTTPS with a certificate from an unknown authority. */
  readonly untrusted: string;
  /** HTTPS with a certificate for a different name. */
  readonly misnamed: string;
  /** An HTTPS URL whose port speaks plain HTTP. */
  readonly plain: string;
  /** A URL on whose port nothing listens. */
  readonly closed: string;
  /** A Task record created by another app user. */
  readonly task: string;
  /** An app user with the role `user`. */
  readonly user: string;
  readonly agent: string;
}

/** A workflow with a single HTTP call. */
export const http = (endpoint: string, more: object = {}, common: object = {}) => [
  { call_it: { call: 'http', with: { method: 'get', endpoint, ...more }, ...common } },
];
