// The helpers that guard and limit tests share: routes whose handlers are replaced by a marker, and paths filled
// in with ids.
import type { AppDeps } from '../../src/app.ts';
import { hashHookToken, mintHookToken } from '../../src/core/auth/tokens.ts';
import { newId } from '../../src/kit/ids.ts';
import { Problem } from '../../src/kit/problem.ts';
import type { World } from '../support/world.ts';

/** The error code returned if every guard accepted the request. */
export const guardsPassed = 'guards_passed';

/** Replaces the handlers of the product's routes, but keeps their real guards. */
export const stubHandlers: AppDeps['routes'] = (routes) =>
  routes.map((route) => ({
    ...route,
    precheck: undefined,
    handle: () => {
      throw new Problem('conflict', guardsPassed, 'The guards let this request through.');
    },
  }));

/** `/api/apps/{app_id}/files/{name}` with `{ app_id }` becomes `/api/apps/0198…/files/0199…`. */
export const fillPath = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_all, name) => ids[name] ?? newId());

/** Inserts a workspace folder, or a personal folder if an owner is given. Returns its id. */
export async function insertFolder(world: World, workspace_id: string, owner_id: string | null = null) {
  const id = newId();
  const now = world.clock.now();
  const row = {
    id,
    workspace_id,
    scope: owner_id === null ? ('workspace' as const) : ('personal' as const),
    owner_id,
    app_type: 'user_app' as const,
    name: 'Folder',
    position: 0,
    created_date: now,
    updated_date: now,
  };
  await world.db.insertInto('folders').values(row).execute();
  return id;
}

/** Inserts a workflow with a hook in this app. Returns the hook's token. */
export async function insertHook(world: World, app: { readonly id: string; readonly workspace_id: string }) {
  const { CELL_CODE } = world.config;
  const token = mintHookToken(CELL_CODE);
  const now = world.clock.now();
  const row = {
    id: newId(),
    workspace_id: app.workspace_id,
    app_id: app.id,
    name: 'Hook',
    status: 'active' as const,
    trigger: JSON.stringify({ config: { trigger_type: 'webhook' } }),
    trigger_type: 'webhook' as const,
    current_version_id: '0'.repeat(64),
    hook_token_hash: hashHookToken(token, CELL_CODE) ?? null,
    hook_token_sealed: 'not read by guards',
    created_date: now,
    updated_date: now,
  };
  await world.db.insertInto('workflows').values(row).execute();
  return token;
}
