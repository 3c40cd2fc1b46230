// Owns who is an operator of the installation, and whether anybody is.
import { takeAdvisoryLock } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

/** Until the transaction ends, no other one takes an operator away: two could otherwise each leave the other's. */
export const lockOperators = (db: Db): Promise<void> => takeAdvisoryLock(db, 'operators');

/** Whether somebody else is an operator and can act as one. */
export const hasOtherOperator = async (db: Db, user_id: string): Promise<boolean> =>
  (await db
    .selectFrom('users')
    .select('id')
    .where('is_operator', '=', true)
    .where('deactivated_at', 'is', null)
    .where('id', '<>', user_id)
    .limit(1)
    .executeTakeFirst()) !== undefined;

export async function saveOperator(db: Db, user_id: string, is_operator: boolean, now: Date): Promise<void> {
  await db.updateTable('users').set({ is_operator, updated_date: now }).where('id', '=', user_id).execute();
}
