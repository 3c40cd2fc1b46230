// The comparison of scopes. Services report granted scopes in different ways, as described in the catalogue.
import type { Connector } from './catalogue.ts';

/** These scopes only request a refresh token, and services often do not report them. */
const refreshScopes = new Set(['offline_access', 'refresh_token', 'offline']);

const graph = 'https://graph.microsoft.com/';

/** Microsoft reports `https://graph.microsoft.com/Mail.Read` as `Mail.Read`. */
const shorten = (scope: string): string => (scope.startsWith(graph) ? scope.slice(graph.length) : scope);

/** Lists the scopes that were requested but not granted. */
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
