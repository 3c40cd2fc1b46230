// Owns the refusals a caller sees: every error answer but 422 is one Problem (docs/contract.md §0.4).

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
  /** Extra members of the body, as the contract names them for this code. */
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** May the same request be sent again without a second effect, and succeed? */
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

  /** `message` is shown to the caller: no secrets, no echo of what they sent. */
  constructor(kind: ProblemKind, code: string, message: string, options: ProblemOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.status = statuses[kind];
    this.members = options.members ?? {};
    // Every 401 says how to authenticate (contract §0.4).
    this.headers = { ...(kind === 'unauthenticated' && { 'www-authenticate': 'Bearer' }), ...options.headers };
    this.retrySafe = options.retrySafe ?? true;
  }

  body(requestId: string): Record<string, unknown> {
    const says = this.status === 402 || this.status === 409 || this.status === 429 || this.status >= 500;
    return {
      type: `urn:plinth:problem:${this.code}`,
      title: titleOf(this.code),
      status: this.status,
      detail: this.message,
      code: this.code,
      request_id: requestId,
      ...(says && { retry_safe: this.retrySafe }),
      ...this.members,
    };
  }
}

/** What the caller named is not there, or not for them: said in the code's own noun. */
export const notFound = (code: string): Problem =>
  new Problem('not_found', code, `There is no such ${code.replace('_not_found', '').replaceAll('_', ' ')}.`);

/** A count cap was met (contract §0.4: always this code). */
export const limitReached = (limit: number, resource: string, message: string): Problem =>
  new Problem('conflict', 'limit_reached', message, { members: { limit, resource } });

const titleOf = (code: string): string => {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
