// The row key used by the agent stores.
import type { AppRow } from '../../../core/auth/proofs.ts';

/** The key of a tenant table's row: its workspace and its id. */
export type RowKey = Pick<AppRow, 'workspace_id' | 'id'>;
