// Tests that the code, the database trigger and the contract allow the same state transitions.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { newId } from '../../kit/ids.ts';
import { endStates, isEnded, mayFollow, type State, states, transitions } from './transitions.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace, { app_type: 'imported_app' });

const columnsOf = (state: State) => ({
  ended_at: isEnded(state) ? new Date() : null,
  error_code: state === 'failed' ? 'internal_error' : null,
  outcome: state === 'completed' ? 'answer' : null,
  input_request: state === 'needs_input' ? '{}' : null,
  input_request_id: state === 'needs_input' ? newId() : null,
});

/** Inserts a session directly in this state. The trigger only checks updates. */
async function insertSession(state: State): Promise<string> {
  const id = newId();
  const { ended_at, error_code, outcome, input_request, input_request_id } = columnsOf(state);
  await sql`insert into coding_sessions (id, workspace_id, app_id, user_id, state, launch_key, launch_hash, prompt, title,
      repository_full_name, base_branch, work_branch, credential_id, request_id, ip, created_date, updated_date,
      ended_at, error_code, outcome, input_request, input_request_id)
    values (${id}, ${workspace}, ${app.id}, ${owner.id}, ${state}, ${id}, '', 'Do it.', 'It', 'acme/shop', 'main', ${id},
      ${newId()}, 'r', '127.0.0.1', now(), now(), ${ended_at}, ${error_code}, ${outcome}, ${input_request}::jsonb,
      ${input_request_id})`.execute(world.db);
  return id;
}

async function move(id: string, to: State): Promise<boolean> {
  const { ended_at, error_code, outcome, input_request, input_request_id } = columnsOf(to);
  const moved = sql`update coding_sessions set state = ${to}, ended_at = ${ended_at}, error_code = ${error_code},
    outcome = ${outcome}, input_request = ${input_request}::jsonb, input_request_id = ${input_request_id}
    where id = ${id}`.execute(world.db);
  return moved.then(
    () => true,
    (error) => {
      expect(error.message).toMatch(/a coding session can't become/);
      return false;
    },
  );
}

describe('the state of a session', () => {
  it.each(states)('follows the list after %s', async (from) => {
    const allowed: State[] = [];
    for (const to of states) if (to !== from && (await move(await insertSession(from), to))) allowed.push(to);
    expect(allowed).toEqual(states.filter((to) => mayFollow(from, to)));
  });

  it('is as the contract says', () => {
    expect(transitions.map(({ from, to }) => `${from} → ${to}`).sort()).toEqual(
      [
        'queued → running',
        'queued → cancelled',
        'queued → failed',
        'running → failed',
        'needs_input → failed',
        'opening_pull_request → failed',
        'running → needs_input',
        'needs_input → running',
        'running → opening_pull_request',
        'running → completed',
        'opening_pull_request → completed',
        'running → cancelling',
        'needs_input → cancelling',
        'opening_pull_request → cancelling',
        'cancelling → cancelled',
        'completed → queued',
        'failed → queued',
        'cancelled → queued',
      ].sort(),
    );
    expect(states.filter(isEnded)).toEqual(endStates);
  });

  it('can only be one of two active ones on a branch, whatever its case', async () => {
    const first = await insertSession('running');
    const rename = (id: string, branch: string) =>
      sql`update coding_sessions set work_branch = ${branch} where id = ${id}`.execute(world.db);
    await rename(first, 'Feature/Total');
    await expect(rename(await insertSession('queued'), 'feature/total')).rejects.toThrow(/coding_sessions_active/);
    await rename(await insertSession('completed'), 'feature/total');
  });
});
