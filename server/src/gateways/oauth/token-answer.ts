// Reads token endpoint responses, including deviations from RFC 6749: errors with status 200 (GitHub, Slack),
// forms instead of JSON (GitHub), a missing token_type, comma-separated scopes, and non-standard error codes. Pure.

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Absent if the service does not report when the access token expires. */
  readonly expiresAt?: Date;
  /** Absent if the service does not report the granted scopes, which means that it granted the requested ones. */
  readonly scopes?: readonly string[];
  readonly idToken?: string;
}

const maxTokenLength = 16_384;

/** Undefined if the text is not a response with an access token. */
export function readTokens(text: string, now: Date): Tokens | undefined {
  const answer = readAnswer(text);
  // If only user scopes were requested, Slack returns the user's token in a nested object.
  const source = answer?.access_token === undefined ? asObject(answer?.authed_user) : answer;
  const accessToken = tokenOf(source?.access_token);
  if (source === undefined || accessToken === undefined) return undefined;
  // Tokens of other types, such as `mac`, can't be used as bearer tokens. Slack uses this field for the kind of token.
  if (typeof source.token_type === 'string' && !knownTokenTypes.has(source.token_type.toLowerCase())) return undefined;
  const refreshToken = tokenOf(source.refresh_token);
  const expiresAt = readExpiry(source.expires_in, now);
  const scopes = readScopes(source.scope);
  const idToken = tokenOf(source.id_token);
  return {
    accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(scopes !== undefined && { scopes }),
    ...(idToken !== undefined && { idToken }),
  };
}

const knownTokenTypes = new Set(['bearer', 'bot', 'user']);

/** The error code, with any status. Undefined if the text is not an OAuth error. */
export function readRefusal(text: string): string | undefined {
  const answer = readAnswer(text);
  if (answer === undefined || tokenOf(answer.access_token) !== undefined) return undefined;
  const code = [answer.error, answer.status].find((value) => typeof value === 'string' && /^\w{1,64}$/.test(value));
  if (typeof code !== 'string') return undefined;
  const lower = code.toLowerCase();
  return invalidGrants.has(lower) ? 'invalid_grant' : lower;
}

/** The codes that GitHub, HubSpot and Slack return instead of `invalid_grant`. */
const invalidGrants = new Set([
  'bad_refresh_token',
  'bad_verification_code',
  'bad_auth_code',
  'invalid_code',
  'invalid_refresh_token',
  'token_expired',
  'token_revoked',
]);

type Answer = Readonly<Record<string, unknown>>;

function readAnswer(text: string): Answer | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return readForm(text);
  }
}

/** GitHub returns a form unless the request asks for JSON. */
function readForm(text: string): Answer | undefined {
  if (!/^(?:access_token|error)=/.test(text) && !/&(?:access_token|error)=/.test(text)) return undefined;
  return Object.fromEntries(new URLSearchParams(text));
}

const asObject = (value: unknown): Answer | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : undefined;

/** A token is sent in a header, so it must be visible ASCII. */
const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(value) ? value : undefined;

const maxLifetimeSeconds = 10 * 365 * 24 * 60 * 60;

/** Seconds, as a number or as digits. 0 means that the token does not expire (ClickUp, and some Zendesk tokens). */
function readExpiry(value: unknown, now: Date): Date | undefined {
  const seconds = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return undefined;
  return new Date(now.getTime() + Math.min(seconds, maxLifetimeSeconds) * 1000);
}

function readScopes(value: unknown): readonly string[] | undefined {
  const parts = typeof value === 'string' ? value.split(/[\s,]+/) : Array.isArray(value) ? value : undefined;
  const scopes = parts?.filter((part): part is string => typeof part === 'string' && part !== '').slice(0, 500);
  return scopes === undefined || scopes.length === 0 ? undefined : scopes;
}
