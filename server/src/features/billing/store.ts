// The queries on the payment provider's customers.
import type { Selectable } from 'kysely';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db, Tables } from '../../tables.ts';

export type CustomerRow = Selectable<Tables['billing_customers']>;

export const findCustomer = (db: Db, { workspace_id }: WorkspaceAccess): Promise<CustomerRow | undefined> =>
  db.selectFrom('billing_customers').selectAll().where('workspace_id', '=', workspace_id).executeTakeFirst();

/** Does nothing if the workspace already has a row. */
export async function recordCustomer(db: Db, row: Omit<CustomerRow, 'provider_customer_id'>): Promise<void> {
  await db
    .insertInto('billing_customers')
    .values(row)
    .onConflict((conflict) => conflict.column('workspace_id').doNothing())
    .execute();
}

/** Updates the row only while its customer is unknown and no other request has renewed its key. */
export async function saveCustomer(
  db: Db,
  { workspace_id, request_key }: CustomerRow,
  change: Partial<Omit<CustomerRow, 'workspace_id'>>,
): Promise<void> {
  await db
    .updateTable('billing_customers')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('request_key', '=', request_key)
    .where('provider_customer_id', 'is', null)
    .execute();
}

/** Clears a customer that no longer exists at the provider. */
export async function forgetCustomer(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  customerId: string,
  renewed: Pick<CustomerRow, 'request_key' | 'requested_at'>,
): Promise<void> {
  await db
    .updateTable('billing_customers')
    .set({ ...renewed, provider_customer_id: null })
    .where('workspace_id', '=', workspace_id)
    .where('provider_customer_id', '=', customerId)
    .execute();
}
