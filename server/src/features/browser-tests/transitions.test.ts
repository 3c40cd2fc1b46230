// Tests that the code and the database trigger allow the same status transitions.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';
import { isTerminal, listSources, type Status, statuses, transitions } from './transitions.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);

/** Inserts a run directly with this status. The trigger only checks updates. */
async function insertRun(status: Status): Promise<string> {
  const id = newId();
  await sql`insert into test_executions (id, workspace_id, app_id, flow_id, flow_name, flow_revision, goal, role, url, status,
      error_message, completed_at, credential_id, request_id, ip, reservation_id, created_date)
    values (${id}, ${workspace}, ${app.id}, ${newId()}, 'Order', 1, 'Order.', 'user', 'https://shop.example/', ${status},
      ${status === 'error' ? 'It failed.' : null}, ${isTerminal(status) ? new Date() : null}, ${newId()}, 'r', '127.0.0.1',
      ${newId()}, now())`.execute(world.db);
  return id;
}

async function move(id: string, to: Status): Promise<boolean> {
  const moved = sql`update test_executions set status = ${to}, error_message = ${to === 'error' ? 'It failed.' : null},
    completed_at = ${isTerminal(to) ? new Date() : null} where id = ${id}`.execute(world.db);
  return moved.then(
    () => true,
    (error) => {
      expect(error.message).toMatch(/a test run can't become/);
      return false;
    },
  );
}

describe('the status of a run', () => {
  it.each(statuses)('follows the list after %s', async (from) => {
    const allowed: Status[] = [];
    for (const to of statuses) if (to !== from && (await move(await insertRun(from), to))) allowed.push(to);
    expect(allowed).toEqual(statuses.filter((to) => transitions[from].includes(to)));
  });

  it('is as the contract says', () => {
    const moves = statuses.flatMap((from) => transitions[from].map((to) => `${from} → ${to}`));
    expect(moves).toEqual([
      'pending → running',
      'pending → error',
      'pending → cancelled',
      'running → analyzing',
      'running → error',
      'running → cancelled',
      'analyzing → passed',
      'analyzing → failed',
      'analyzing → inconclusive',
      'analyzing → error',
      'analyzing → cancelled',
    ]);
    expect(statuses.filter(isTerminal)).toEqual(['passed', 'failed', 'inconclusive', 'error', 'cancelled']);
    expect(listSources('cancelled')).toEqual(['pending', 'running', 'analyzing']);
    expect(listSources('pending')).toEqual([]);
  });
});
