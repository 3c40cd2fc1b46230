// The two queues that are read in the order of their ids: published events and pending audit entries.
import { createSealer } from '../../server/src/features/audit/seal.ts';
import { createListeners, eventBus } from '../../server/src/kit/background/events/event-bus.ts';
import type { AnyDb } from '../../server/src/kit/db/database.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { type Opened, ownerOf, type Services } from './part.ts';

const added = 20;
const newIds = (count: number) => Array.from({ length: count }, newId);
const nothing = async () => {};

/** Events of 50 workspaces. */
export async function openEvents({ db, pool }: Services): Promise<Opened> {
  const bus = eventBus<{ 'bench.published': object }, AnyDb>({ notify: () => {} }, () => {});
  const { listenAfterCommit } = createListeners<{ 'bench.published': object }, AnyDb>();
  bus.listen([listenAfterCommit('bench.published', nothing)]);
  const insert = (count: number) =>
    pool.query(
      `insert into events (id, name, payload, occurred_at)
       select id, 'bench.published', jsonb_build_object('workspace_id', owner), now()
       from unnest($1::uuid[], $2::uuid[]) u(id, owner)`,
      [newIds(count), Array.from({ length: count }, (_, n) => ownerOf(1 + (n % 50)))],
    );
  return {
    added,
    add: () => insert(added),
    work: () => bus.dispatch(db, new Date()),
    finish: nothing,
    async complete(count) {
      await insert(count);
      await pool.query('update events set dispatched_at = now() where dispatched_at is null');
    },
  };
}

/** Entries of one workspace. Another worker seals those that are completed meanwhile. */
export async function openSealing({ db, pool }: Services): Promise<Opened> {
  const [sealer, other] = [createSealer(), createSealer()];
  const entry = {
    occurred_at: new Date().toISOString(),
    type: 'app.updated',
    app_id: null,
    actor: { email: 'bench@example.com' },
    outcome: 'done',
    request_id: newId(),
    before: { user_description: '' },
    after: { user_description: 'changed' },
  };
  const insert = (count: number) =>
    pool.query(
      `insert into audit_pending (id, workspace_id, entry)
       select id, $2, $3::jsonb || jsonb_build_object('id', id) from unnest($1::uuid[]) u(id)`,
      [newIds(count), ownerOf(1), JSON.stringify(entry)],
    );
  return {
    added,
    add: () => insert(added),
    work: () => sealer.seal(db),
    finish: nothing,
    async complete(count) {
      await insert(count);
      while ((await other.seal(db)) > 0);
    },
  };
}
