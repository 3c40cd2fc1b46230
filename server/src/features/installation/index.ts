// The door of the installation's own operations: alive, ready, figures, and the description of the API.
import { type Installation, installationRoutes } from './routes.ts';

export const installation = (of: Installation) => ({ routes: installationRoutes(of) });
