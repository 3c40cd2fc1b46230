// The door of accounts: people, their sessions and passwords, and every credential they hand out.
import { type AccountParts, accountRoutes } from './routes.ts';

export const accounts = (parts: AccountParts) => ({ routes: accountRoutes(parts) });
