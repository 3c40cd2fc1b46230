// Entry point for the installation's own operations: health checks, metrics, the OpenAPI document, and the reference
// page.
import { type InstallationDeps, installationRoutes } from './routes.ts';

export const installation = (deps: InstallationDeps) => ({ routes: installationRoutes(deps) });
