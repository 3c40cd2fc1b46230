// Owns whose pages may call an app's data from a browser: those of the origins its owners named (contract §0.1).
// Operations that only manage are open to no other origin.
import { prepared } from '../../kit/db/database.ts';
import type { CrossOrigin } from '../../kit/http/cross-origin.ts';
import { idOrNull } from '../../kit/ids.ts';
import type { Db } from '../../tables.ts';
import { open } from './credentials.ts';
import type { AppLookup } from './lookup.ts';
import type { Route } from './route.ts';

const readOrigins = prepared<{ public_origins: string[] }, [id: string | null]>(
  'access_origins',
  '/* reach */ select public_origins from apps where id = $1::uuid and deleted_date is null',
);

export const createAppOrigins = (db: Db): CrossOrigin => ({
  isAllowed: (operation) => {
    const { credentials } = operation as Route;
    return credentials !== open && credentials.appUser === true;
  },
  // The look-up has brought the app along; only a preflight, and a refusal before it, asks once more.
  getOrigins: async (params, found) =>
    found === undefined
      ? ((await readOrigins(db, idOrNull(params.app_id)))[0]?.public_origins ?? [])
      : ((found as AppLookup).app_public_origins ?? []),
});
