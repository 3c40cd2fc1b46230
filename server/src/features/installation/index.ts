// Entry point of the installation's own operations: health checks, metrics, OpenAPI document, reference page.
import { type InstallationDeps, installationRoutes } from './routes.ts';

export const installation = (deps: InstallationDeps) => ({ routes: installationRoutes(deps) });
