// Owns the error answers: every error except 422 is a Problem, sent as application/problem+json
// (docs/api/conventions.md#errors).
import { capitalize } from './text.ts';

const statuses = {
  bad_request: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported_media: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  timeout: 504,
} as const;

export type ProblemKind = keyof typeof statuses;

interface ProblemOptions {
  /** More members of the body, as documented for this code. */
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Can the same request be repeated without a second effect? Default: true. */
  retrySafe?: boolean;
  /** For the log, never for the caller. */
  cause?: unknown;
}

export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly code: string;
  readonly status: number;
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly retrySafe: boolean;

  /** `message` is shown to the caller. It must not contain a secret or what the caller sent. */
  constructor(kind: ProblemKind, code: string, message: string, options: ProblemOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.status = statuses[kind];
    this.members = options.members ?? {};
    // RFC 9110 requires the header in every 401.
    this.headers = { ...(kind === 'unauthenticated' && { 'www-authenticate': 'Bearer' }), ...options.headers };
    this.retrySafe = options.retrySafe ?? true;
  }

  body(requestId: string): Record<string, unknown> {
    const hasRetrySafe = this.status === 402 || this.status === 409 || this.status === 429 || this.status >= 500;
    return {
      type: `urn:plinth:problem:${this.code}`,
      title: toTitle(this.code),
      status: this.status,
      detail: this.message,
      code: this.code,
      request_id: requestId,
      ...(hasRetrySafe && { retry_safe: this.retrySafe }),
      ...this.members,
    };
  }
}

/** 404 for what does not exist or what the caller can't see. `app_not_found` begins with "App not found." */
export const notFound = (code: string): Problem => {
  const noun = code.replace('_not_found', '').replaceAll('_', ' ');
  const message = `${toTitle(code)}. There is no such ${noun}, or you can't see it. Check the id or name in the request.`;
  return new Problem('not_found', code, message);
};

/** 409 for a count at its maximum. The code is the same for all resources; `resource` says which. */
export const limitReached = (limit: number, resource: string, message: string): Problem =>
  new Problem('conflict', 'limit_reached', message, { members: { limit, resource } });

const toTitle = (code: string): string => capitalize(code.replaceAll('_', ' '));
