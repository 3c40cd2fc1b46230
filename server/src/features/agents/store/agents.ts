// The queries on the table `agents`, which contains the settings that only agents have.
import { sql } from 'kysely';
import type { WorkspaceAccess } from '../../../core/auth/proofs.ts';
import { selectAppList } from '../../../core/identity/app-list.ts';
import type { Position } from '../../../kit/http/cursor.ts';
import { idOrNull } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { AgentQuery, AgentSettings } from '../contract.ts';
import type { RowKey } from './row-key.ts';

export const findAgent = (db: Db, { workspace_id, id }: RowKey): Promise<AgentSettings | undefined> =>
  db
    .selectFrom('agents')
    .where('workspace_id', '=', workspace_id)
    .where('app_id', '=', id)
    .select(['instructions', 'model'])
    .executeTakeFirst();

export interface AgentKey extends RowKey {
  /** The owner of the app that uses the agent. If null, only agents that are visible to the workspace are found. */
  readonly owner_id: string | null;
}

/** Finds an agent that another app in the workspace may use: it is visible to the workspace, or has the same owner. */
export const findUsableAgent = (db: Db, { workspace_id, id, owner_id }: AgentKey): Promise<AgentSettings | undefined> =>
  db
    .selectFrom('apps')
    .leftJoin('agents', (join) =>
      join
        .onRef('agents.workspace_id', '=', 'apps.workspace_id')
        .onRef('agents.app_id', '=', 'apps.id')
        .on('agents.workspace_id', '=', workspace_id),
    )
    .where('apps.workspace_id', '=', workspace_id)
    .where('apps.id', '=', idOrNull(id))
    .where('apps.app_type', '=', 'user_agent')
    .where('apps.deleted_date', 'is', null)
    .where((is) =>
      is.or([
        is('apps.visibility', '=', 'workspace'),
        ...(owner_id === null ? [] : [is('apps.owner_id', '=', owner_id)]),
      ]),
    )
    .select((is) => [is.fn.coalesce('agents.instructions', sql<string>`''`).as('instructions'), 'agents.model'])
    .executeTakeFirst();

export async function saveAgent(db: Db, { workspace_id, id }: RowKey, own: AgentSettings): Promise<void> {
  await db
    .insertInto('agents')
    .values({ workspace_id, app_id: id, ...own })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'app_id']).doUpdateSet(own))
    .execute();
}

export const listAgents = (db: Db, access: WorkspaceAccess, query: AgentQuery, after: Position | undefined) =>
  selectAppList(db, access, query, after)
    .where('apps.app_type', '=', 'user_agent')
    .leftJoin('agents', (join) =>
      join
        .onRef('agents.workspace_id', '=', 'apps.workspace_id')
        .onRef('agents.app_id', '=', 'apps.id')
        .on('agents.workspace_id', '=', access.workspace_id),
    )
    .select((is) => [is.fn.coalesce('agents.instructions', sql<string>`''`).as('instructions'), 'agents.model'])
    .execute();
