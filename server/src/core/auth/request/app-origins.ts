// Decides which web pages may call the operations for an app's data and sign-in: the app's own pages, if it is
// published on its own host, the pages of its previews, and pages from the origins in its `public_origins`. No other
// operation accepts requests from other origins' pages.
import type { Clock } from '../../../kit/clock.ts';
import { prepared } from '../../../kit/db/database.ts';
import { nameClient } from '../../../kit/http/connection/client-address.ts';
import type { Exchange } from '../../../kit/http/exchange.ts';
import type { CrossOrigin } from '../../../kit/http/request/cross-origin.ts';
import { idOrNull } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import { shareRecent } from '../../../kit/recent.ts';
import type { Db } from '../../../tables.ts';
import { open } from '../credentials.ts';
import { findPreview, isPreviewLabel } from '../previews.ts';
import type { Route } from '../route.ts';
import type { FailedLookups } from './failed-lookups.ts';
import type { AppLookup } from './lookup.ts';

interface AppWithOrigins {
  readonly slug: string;
  readonly live_deployment_id: string | null;
  readonly public_origins: readonly string[];
}

const readOrigins = prepared<AppWithOrigins, [id: string]>(
  'list origins of app',
  `/* lookup */ select slug, live_deployment_id, public_origins from apps
   where id = $1::uuid and deleted_date is null`,
);

const maxKnownOrigins = 10_000;
const readAllOrigins = prepared<{ origin: string }, []>(
  'list origins of all apps',
  `/* lookup */ select distinct origin from apps cross join lateral unnest(public_origins) as o(origin)
   where public_origins <> '{}' and deleted_date is null limit ${maxKnownOrigins + 1}`,
);

/**
 * A request's lookup has already read the app's origins. Only a preflight request, or a request refused before the
 * lookup, needs another query, and only if some app may have the origin. The origins of all apps are therefore kept in
 * memory. If an origin is not among them, they are read again, at most once a second.
 */
export function createAppOrigins(
  db: Db,
  failedLookups: FailedLookups,
  /** Returns the slug of the app whose published pages would have this origin. */
  slugOf: (origin: string) => string | undefined,
  clock: Clock,
): CrossOrigin {
  let known: ReadonlySet<string> = new Set();
  const readKnown = shareRecent(1_000, async () => {
    known = new Set((await readAllOrigins(db)).map(({ origin }) => origin));
  });

  async function isListedByAnyApp(origin: string): Promise<boolean> {
    if (slugOf(origin) !== undefined) return true; // not certain; `isOriginOf` decides later
    if (!known.has(origin)) await readKnown();
    return known.has(origin) || known.size > maxKnownOrigins;
  }

  const isOriginOf = (origin: string, { slug, live_deployment_id, public_origins }: AppWithOrigins): boolean =>
    public_origins.includes(origin) || (live_deployment_id !== null && slugOf(origin) === slug);

  async function isPreviewOf(origin: string, appId: string): Promise<boolean> {
    const label = slugOf(origin);
    if (label === undefined || !isPreviewLabel(label)) return false;
    return (await findPreview(db, label, clock.now()))?.app_id === appId;
  }

  return {
    isAllowed: (operation) => {
      const { credentials, access } = operation as Route;
      return credentials === open ? access.lookUpAnonymous !== undefined : credentials.appUser !== undefined;
    },
    isAllowedOrigin: async (origin, { params, address, lookup }) => {
      if (lookup !== undefined) {
        const { app_id, app_slug, app_live_deployment_id, app_public_origins } = lookup as AppLookup;
        if (app_id === null) return false;
        const live_deployment_id = app_live_deployment_id;
        const app = { slug: app_slug, live_deployment_id, public_origins: app_public_origins };
        return isOriginOf(origin, app) || isPreviewOf(origin, app_id);
      }
      const appId = idOrNull(params.app_id);
      const client = nameClient(address);
      const isRefused = appId === null || failedLookups.findRefusal('apps', client) !== undefined;
      if (isRefused || !(await isListedByAnyApp(origin))) return false;
      const [app] = await readOrigins(db, appId);
      if (app !== undefined && (isOriginOf(origin, app) || (await isPreviewOf(origin, appId)))) return true;
      await failedLookups.count('apps', client);
      return false;
    },
  };
}

/**
 * Throws 403 for web pages that do not belong to the app. Browsers let any page send some requests, although they hide
 * the response, so without this check a page could make its visitors request e-mails. Requests without an origin come
 * from servers and tools.
 */
export async function requireAppOrigin(exchange: Exchange, lookup: unknown, origins: CrossOrigin): Promise<void> {
  const { params, address } = exchange;
  const origin = exchange.header('origin');
  if (origin === undefined || (await origins.isAllowedOrigin(origin, { params, address, lookup }))) return;
  throw new Problem(
    'forbidden',
    'origin_not_allowed',
    "Pages from this origin can't call the app's sign-in. Add the origin to the app's `public_origins`.",
  );
}
