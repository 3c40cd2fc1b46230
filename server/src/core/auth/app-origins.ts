// Owns which web pages may call an app's data and its sign-in from a browser: those of the origins in the app's
// `public_origins`. All other operations are closed to pages of other origins.
import { prepared } from '../../kit/db/database.ts';
import { nameClient } from '../../kit/http/client-address.ts';
import type { CrossOrigin } from '../../kit/http/cross-origin.ts';
import { idOrNull } from '../../kit/ids.ts';
import { shareRecent } from '../../kit/recent.ts';
import type { Db } from '../../tables.ts';
import { open } from './credentials.ts';
import type { FailedLookups } from './failed-lookups.ts';
import type { AppLookup } from './lookup.ts';
import type { Route } from './route.ts';

const readOrigins = prepared<{ public_origins: string[] }, [id: string]>(
  'list origins of app',
  '/* lookup */ select public_origins from apps where id = $1::uuid and deleted_date is null',
);

const maxKnownOrigins = 10_000;
const readAllOrigins = prepared<{ origin: string }, []>(
  'list origins of all apps',
  `/* lookup */ select distinct origin from apps cross join lateral unnest(public_origins) as o(origin)
   where public_origins <> '{}' and deleted_date is null limit ${maxKnownOrigins + 1}`,
);

/**
 * The lookup has read the origins already. Only a preflight, or a refusal before the lookup, needs a query of its own, and
 * none if no app lists the origin: the origins of all apps are kept, and read again at most once a second when an origin is
 * not among them.
 */
export function createAppOrigins(db: Db, failedLookups: FailedLookups): CrossOrigin {
  let known: ReadonlySet<string> = new Set();
  const readKnown = shareRecent(1_000, async () => {
    known = new Set((await readAllOrigins(db)).map(({ origin }) => origin));
  });

  async function isListedByAnyApp(origin: string): Promise<boolean> {
    if (!known.has(origin)) await readKnown();
    return known.has(origin) || known.size > maxKnownOrigins;
  }

  return {
    isAllowed: (operation) => {
      const { credentials, access } = operation as Route;
      return credentials === open ? access.lookUpAnonymous !== undefined : credentials.appUser !== undefined;
    },
    isAllowedOrigin: async (origin, { params, address, lookup }) => {
      if (lookup !== undefined) return (lookup as AppLookup).app_public_origins?.includes(origin) ?? false;
      const appId = idOrNull(params.app_id);
      const client = nameClient(address);
      const isRefused = appId === null || failedLookups.findRefusal('apps', client) !== undefined;
      if (isRefused || !(await isListedByAnyApp(origin))) return false;
      const [app] = await readOrigins(db, appId);
      if (app?.public_origins.includes(origin)) return true;
      await failedLookups.count('apps', client);
      return false;
    },
  };
}
