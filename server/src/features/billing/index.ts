// Entry point for billing: how workspaces pay for advertising.
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';
import { type BillingDeps, getBilling } from './billing.ts';
import { billingRoutes } from './routes.ts';

export const billing = (deps: BillingDeps) => ({
  routes: billingRoutes(deps),
  readBilling: (db: Db, access: WorkspaceAccess) => getBilling(db, deps, access),
});
