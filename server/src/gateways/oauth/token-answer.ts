// Owns reading what token endpoints answer, also where services differ from RFC 6749: errors with the status 200 (GitHub,
// Slack), forms instead of JSON (GitHub), no token_type, scopes separated by commas, and error codes of their own. Pure.

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Absent: the service does not say when the access token expires. */
  readonly expiresAt?: Date;
  /** Absent: the service does not say which scopes it granted, which means those that were asked for. */
  readonly scopes?: readonly string[];
  readonly idToken?: string;
}

const maxTokenLength = 16_384;

/** Undefined if the text is not an answer with an access token. */
export function readTokens(text: string, now: Date): Tokens | undefined {
  const answer = readAnswer(text);
  // Slack returns a person's own token in a nested object, if only scopes of the person were asked for.
  const source = answer?.access_token === undefined ? asObject(answer?.authed_user) : answer;
  const accessToken = tokenOf(source?.access_token);
  if (source === undefined || accessToken === undefined) return undefined;
  // A token of another type, such as `mac`, is of no use as a bearer token. Slack names what the token is for.
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

/** The code of an error, whatever the status was. Undefined if the text is not an error of OAuth. */
export function readRefusal(text: string): string | undefined {
  const answer = readAnswer(text);
  if (answer === undefined || tokenOf(answer.access_token) !== undefined) return undefined;
  const code = [answer.error, answer.status].find((value) => typeof value === 'string' && /^\w{1,64}$/.test(value));
  if (typeof code !== 'string') return undefined;
  const lower = code.toLowerCase();
  return invalidGrants.has(lower) ? 'invalid_grant' : lower;
}

/** What services answer instead of `invalid_grant`: GitHub, HubSpot, and Slack. */
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

/** GitHub answers with a form, unless the request asks for JSON. */
function readForm(text: string): Answer | undefined {
  if (!/^(?:access_token|error)=/.test(text) && !/&(?:access_token|error)=/.test(text)) return undefined;
  return Object.fromEntries(new URLSearchParams(text));
}

const asObject = (value: unknown): Answer | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : undefined;

/** A token goes into a header, so that it has to be visible ASCII. */
const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(value) ? value : undefined;

const maxLifetimeSeconds = 10 * 365 * 24 * 60 * 60;

/** Seconds as a number or its digits. 0 means that the token does not expire (ClickUp, some of Zendesk's). */
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
