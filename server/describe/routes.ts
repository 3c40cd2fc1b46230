// Lists the app's routes without serving them, for generated files and tests.

import { createApp } from '../src/app.ts';
import { newKeys } from '../src/commands/keys.ts';
import { readConfig } from '../src/config.ts';
import type { Route } from '../src/core/auth/route.ts';

export async function listRoutes(): Promise<readonly Route[]> {
  const app = createApp(readConfig({ ...newKeys(), LOG_LEVEL: 'silent' }), { migrations: [] });
  await app.close();
  return app.routes;
}
