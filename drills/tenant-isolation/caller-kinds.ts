// The kinds of callers. Each has rights on one app or on none, but never on the victim's app.
import type { AcceptedCredentials } from '../../server/src/core/auth/credentials.ts';
import type { Route } from '../../server/src/core/auth/route.ts';

/** `a` is the victim's app, `b` another app in the same workspace, and `c` an app in another workspace. */
export type TenantLetter = 'a' | 'b' | 'c';

export interface Caller {
  readonly headers: Readonly<Record<string, string>>;
}

export interface CallerKind {
  readonly name: string;
  /** The app on which these callers have rights. */
  readonly own: TenantLetter | null;
  readonly role: 'runtime' | 'key' | 'viewer' | 'editor' | 'owner';
  /** Included in every text that these callers write. */
  readonly stamp: string;
  readonly callers: readonly Caller[];
  /** The entities whose rules allow these callers. */
  readonly entities: readonly string[];
  readonly weight: number;
  /** Whether these callers' credentials are valid and stay valid. */
  readonly isSignedIn: boolean;
}

// These operations would remove resources that other operations need.
const excluded = new Set(['deleteApp', 'restoreApp']);
const endTokens = new Set(['signOutAppUser', 'renewAppUserToken']);

/** Whether callers can still use their tokens after calling this operation on the app that issued them. */
export const keepsToken = ({ name }: Route): boolean => !endTokens.has(name);

/** Whether the route accepts these callers on their own app. */
export function mayCall({ role }: CallerKind, route: Route): boolean {
  const { name, path, credentials } = route;
  const { needs } = route.access;
  const accepted = credentials as AcceptedCredentials;
  if (!path.startsWith('/api/apps/{app_id}') || excluded.has(name) || !keepsToken(route)) return false;
  if (role === 'runtime') return accepted.appUser === true;
  if (role === 'key') return accepted.workspaceKey !== undefined;
  if (accepted.token === undefined) return false;
  const enough = {
    viewer: ['app viewer'],
    editor: ['app viewer', 'app editor'],
    owner: ['app viewer', 'app editor', 'app owner'],
  };
  return needs === 'entity rules' || enough[role].includes(needs);
}

/** Whether an operation names an app in its path, query or body, or lists apps. */
export const namesAnApp = ({ path, method }: Route, shapes: readonly unknown[]): boolean =>
  /\{(app|agent)_id\}/.test(path) ||
  (method === 'GET' && /^\/api\/(apps|agents|app-folders\/tree)$/.test(path)) ||
  /"app_ids?"/.test(JSON.stringify(shapes));
