// A process that reserves credits and then waits to be killed. Arguments: DATABASE_URL WORKSPACE USER LEASE_MS.
import { reserve } from '../../src/core/credits/reservations.ts';
import { openDatabase } from '../../src/kit/db/database.ts';
import type { Tables } from '../../src/tables.ts';

const [url = '', workspace_id = '', user_id = '', leaseMs = ''] = process.argv.slice(2);
const { db } = openDatabase<Tables>({ url, poolSize: 1 });
const spend = { workspace_id, user_id, app_id: null, operation: 'test', reference_id: null };
await reserve(db, { ...spend, amount: 7, leaseMs: Number(leaseMs) }, new Date());
console.log('reserved');
setInterval(() => {}, 1_000);
