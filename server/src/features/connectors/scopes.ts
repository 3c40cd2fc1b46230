// Owns comparing scopes. Services report what they granted in their own words; what is known about that is in the catalogue.
import type { Connector } from './catalogue.ts';

/** They only ask for a refresh token, and are often not reported. */
const refreshScopes = new Set(['offline_access', 'refresh_token', 'offline']);

const graph = 'https://graph.microsoft.com/';

/** Microsoft reports `https://graph.microsoft.com/Mail.Read` as `Mail.Read`. */
const shorten = (scope: string): string => (scope.startsWith(graph) ? scope.slice(graph.length) : scope);

/** The scopes that were asked for and not granted. */
export function listMissingScopes(
  { oauth }: Pick<Connector, 'oauth'>,
  requested: readonly string[],
  granted: readonly string[],
): string[] {
  const included = new Map(Object.entries(oauth?.includedScopes ?? {}));
  const known = new Set(granted.flatMap((scope) => [shorten(scope), ...(included.get(scope) ?? [])]));
  const unreported = new Set(oauth?.unreportedScopes);
  return requested.filter((scope) => !refreshScopes.has(scope) && !unreported.has(scope) && !known.has(shorten(scope)));
}
