// The door of the installation's own operations: alive, ready, figures, and the description of the API.
import { type InstallationDeps, installationRoutes } from './routes.ts';

export const installation = (of: InstallationDeps) => ({ routes: installationRoutes(of) });
