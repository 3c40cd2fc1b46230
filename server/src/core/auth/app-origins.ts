// Owns which web pages may call an app's data from a browser: those of the origins in the app's `public_origins`. All
// other operations are closed to pages of other origins.
import { prepared } from '../../kit/db/database.ts';
import type { CrossOrigin } from '../../kit/http/cross-origin.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { open } from './credentials.ts';
import type { AppLookup } from './lookup.ts';
import type { Route } from './route.ts';

const readOrigins = prepared<{ public_origins: string[] }, [id: string | null]>(
  'list origins of app',
  '/* lookup */ select public_origins from apps where id = $1::uuid and deleted_date is null',
);

export const createAppOrigins = (db: Db): CrossOrigin => ({
  isAllowed: (operation) => {
    const { credentials } = operation as Route;
    return credentials !== open && credentials.appUser === true;
  },
  // The lookup has read the origins already. Only a preflight, or a refusal before the lookup, needs this query.
  getOrigins: async (params, lookup) =>
    lookup === undefined
      ? ((await readOrigins(db, idOrNull(params.app_id)))[0]?.public_origins ?? [])
      : ((lookup as AppLookup).app_public_origins ?? []),
});
