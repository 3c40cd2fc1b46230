// The installation's operators.
import { takeAdvisoryLock } from '../../kit/db/database.ts';
import type { Db } from '../../tables.ts';

/**
 * Prevents other transactions from removing an operator until this one ends. Otherwise two concurrent transactions
 * could remove the last two operators.
 */
export const lockOperators = (db: Db): Promise<void> => takeAdvisoryLock(db, 'operators');

/** Whether there is another operator whose account is active. */
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
