// The door of members: who belongs to a workspace, as what, and how they come and go.
import type { ChangeParts } from './changes/change.ts';
import { changeRoutes } from './changes/routes.ts';

export const members = (parts: ChangeParts) => ({ routes: changeRoutes(parts) });
