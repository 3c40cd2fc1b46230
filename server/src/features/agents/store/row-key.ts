// Owns the key by which the stores of agents find rows.
import type { AppRow } from '../../../core/auth/proofs.ts';

/** A row of a tenant table: its workspace and its id. */
export type RowKey = Pick<AppRow, 'workspace_id' | 'id'>;
