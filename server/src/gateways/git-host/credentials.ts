// The token that a request is sent with: either the caller's token, or a token that the operator's App has
// obtained for this repository. The App's token is cached until shortly before it expires.
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { asObject, asText, findGeneralOutcome, type Rest } from './rest.ts';
import type { GitCredential, Refused, Unavailable } from './types.ts';

export interface AppSettings {
  readonly id: string;
  /** The key in PEM format. */
  readonly privateKey: string;
}

export type Authorization =
  /** `permissions` are the App's permissions. Undefined if the token is the caller's. */
  | { readonly outcome: 'authorized'; readonly token: string; readonly permissions?: Readonly<Record<string, unknown>> }
  /** The App is not installed for this repository, or the repository does not exist. */
  | { readonly outcome: 'not_found' }
  | Refused
  | Unavailable;

export interface Credentials {
  authorize(fullName: string, credential: GitCredential, signal?: AbortSignal): Promise<Authorization>;
  /** Whether the host accepts the App's key. Without an App, whether the host answers anyone. */
  check(signal?: AbortSignal): Promise<{ readonly outcome: 'works' } | Refused | Unavailable>;
  /** Called after the host has rejected the token. */
  forget(fullName: string): void;
}

/** GitHub's installation tokens are valid for an hour. */
const renewBeforeMs = 5 * 60 * 1000;
const maxCached = 1_000;
const needed = ['contents', 'pull_requests'];

type AppToken = Extract<Authorization, { outcome: 'authorized' }> & { readonly expiresAt: number };

export function createCredentials(rest: Rest, app: AppSettings | undefined, clock: Clock): Credentials {
  const key = app === undefined ? undefined : createPrivateKey(app.privateKey);
  const cached = new Map<string, AppToken>();

  const requestToken = async (
    fullName: string,
    signal?: AbortSignal,
  ): Promise<AppToken | Exclude<Authorization, AppToken>> => {
    if (app === undefined || key === undefined)
      return {
        outcome: 'refused',
        reason: 'no App is configured for the git host, so the repository needs a token',
      };
    const token = signAppToken(app.id, key, clock.now());
    const [owner, repo] = fullName.split('/');
    const installation = await rest.send({
      method: 'GET',
      path: '/repos/{owner}/{repo}/installation',
      parameters: { owner, repo },
      token,
      signal,
    });
    const found = findGeneralOutcome(installation);
    if (found !== undefined) return found;
    if (installation.outcome !== 'answered' || installation.status !== 200) return { outcome: 'not_found' };
    const { id, permissions: granted } = asObject(installation.body);
    const permissions = asObject(granted);
    // Requests only the necessary permissions, and only for this repository.
    const wanted = Object.fromEntries(needed.flatMap((name) => (permissions[name] ? [[name, permissions[name]]] : [])));
    const issued = await rest.send({
      method: 'POST',
      path: '/app/installations/{installation_id}/access_tokens',
      parameters: { installation_id: id, repositories: [repo], permissions: wanted },
      token,
      signal,
    });
    const failed = findGeneralOutcome(issued);
    if (failed !== undefined) return failed;
    if (issued.outcome !== 'answered' || issued.status !== 201)
      return { outcome: 'refused', reason: 'the git host did not issue a token to the App' };
    const body = asObject(issued.body);
    const expiresAt = Date.parse(asText(body.expires_at)) || 0;
    return { outcome: 'authorized', token: asText(body.token), permissions, expiresAt };
  };

  return {
    async check(signal) {
      const token = app === undefined || key === undefined ? undefined : signAppToken(app.id, key, clock.now());
      const answer = await rest.send({ method: 'GET', path: token === undefined ? '/' : '/app', token, signal });
      // A host may require a token for every request. That it answers is then enough.
      if (token === undefined && answer.outcome === 'answered' && answer.status < 500) return { outcome: 'works' };
      const failed = findGeneralOutcome(answer);
      // The host may repeat the App's token, which is valid for minutes.
      if (failed !== undefined) return { ...failed, reason: failed.reason.replaceAll(token ?? '***', '***') };
      if (answer.outcome === 'answered' && answer.status === 200) return { outcome: 'works' };
      return { outcome: 'refused', reason: 'the host has no App with this id and key' };
    },
    async authorize(fullName, credential, signal) {
      if ('token' in credential) return { outcome: 'authorized', token: credential.token };
      const name = fullName.toLowerCase();
      const known = cached.get(name);
      if (known !== undefined && known.expiresAt - renewBeforeMs > clock.now().getTime()) return known;
      const result = await requestToken(fullName, signal);
      cached.delete(name);
      if ('expiresAt' in result) {
        const [oldest] = cached.keys();
        if (cached.size >= maxCached && oldest !== undefined) cached.delete(oldest);
        cached.set(name, result);
      }
      return result;
    },
    forget: (fullName) => void cached.delete(fullName.toLowerCase()),
  };
}

/**
 * A JSON Web Token (RS256) that is valid for nine minutes. Its issue time is a minute in the past, because GitHub
 * rejects tokens issued in the future and our clock may be ahead.
 */
function signAppToken(appId: string, key: KeyObject, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000);
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ iat: seconds - 60, exp: seconds + 540, iss: appId })}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}
