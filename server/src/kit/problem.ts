// Error responses. Every error except a 422 is a Problem, sent as application/problem+json
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
  /** Additional body members, as documented for this code. */
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  /**
   * Whether repeating the same request has no further effect. By default it has none, unless a change is already
   * committed and the operation can't be repeated.
   */
  retrySafe?: boolean;
  /** For the log only. Never shown to the caller. */
  cause?: unknown;
}

export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly code: string;
  readonly status: number;
  readonly members: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly retrySafe: boolean | undefined;

  /** `message` is shown to the caller. It must not contain secrets or anything that the caller sent. */
  constructor(kind: ProblemKind, code: string, message: string, options: ProblemOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.status = statuses[kind];
    this.members = options.members ?? {};
    // RFC 9110 requires this header in every 401.
    this.headers = { ...(kind === 'unauthenticated' && { 'www-authenticate': 'Bearer' }), ...options.headers };
    this.retrySafe = options.retrySafe;
  }

  body(requestId: string, isRepeatSafe = true): Record<string, unknown> {
    const hasRetrySafe = this.status === 402 || this.status === 409 || this.status === 429 || this.status >= 500;
    return {
      type: `urn:plinth:problem:${this.code}`,
      title: toTitle(this.code),
      status: this.status,
      detail: this.message,
      code: this.code,
      request_id: requestId,
      ...(hasRetrySafe && { retry_safe: this.retrySafe ?? isRepeatSafe }),
      ...this.members,
    };
  }
}

/**
 * A 404 for something that does not exist or that the caller can't access. For example, the message for `app_not_found`
 * starts with "App not found."
 */
export const notFound = (code: string): Problem => {
  const message = `${toTitle(code)}. Check that the id or name in the request is correct and that you have access.`;
  return new Problem('not_found', code, message);
};

/**
 * A 409 for a resource whose count has reached its maximum. All resources share one code, so `resource` names the
 * resource.
 */
export const limitReached = (limit: number, resource: string, message: string): Problem =>
  new Problem('conflict', 'limit_reached', message, { members: { limit, resource } });

const toTitle = (code: string): string => capitalize(code.replaceAll('_', ' '));
