// The door of apps: making, listing and reading the apps of a workspace.
import type { Cursors } from '../../kit/http/cursor.ts';
import { appRoutes } from './routes.ts';

export const apps = ({ cursors }: { cursors: Cursors }) => ({ routes: appRoutes(cursors) });
