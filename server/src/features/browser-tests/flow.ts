// Flows: a test's goal, and the role that it runs as (docs/api/browser-tests.md#flows).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import { type Answer, unchanged } from '../../kit/http/answer.ts';
import { newId } from '../../kit/ids.ts';
import { limitReached, notFound, Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { type Flow, type FlowChange, maxFlows, type NewFlow, presentFlow, type Role } from './contract.ts';
import { findActiveExecution } from './store/executions.ts';
import {
  countFlows,
  type FlowRow,
  type FlowWithRun,
  findFlow,
  insertFlow,
  lockFlow,
  lockFlowList,
  saveFlow,
  toAppKey,
} from './store/flows.ts';

export type FlowAccess = AppAccess & { readonly flow: FlowWithRun };

export function createFlow(db: Db, access: AppAccess, flow: NewFlow, now: Date): Promise<Flow> {
  return transaction(db, async (db) => {
    const [created] = await addFlows(db, access, [flow], now);
    return presentFlow(created as FlowRow);
  });
}

/** Call this in a transaction. Throws 409 if the app would have too many flows. */
export async function addFlows(db: Db, access: AppAccess, flows: readonly NewFlow[], now: Date): Promise<FlowRow[]> {
  const app = toAppKey(access);
  await lockFlowList(db, app);
  if ((await countFlows(db, app)) + flows.length > maxFlows) throw tooManyFlows();
  const rows: FlowRow[] = [];
  for (const { name, goal, role = chooseRole(`${name}\n${goal}`) } of flows) {
    const times = { created_date: now, updated_date: now };
    const row = await insertFlow(db, app, { id: newId(), name, goal, role, created_by: nameCaller(access), ...times });
    const after = { name, goal, role };
    await audit(db, access, { ...targetOf(row), type: 'test_flow.created', after }, now);
    rows.push(row);
  }
  return rows;
}

/** Returns the first role that the text mentions ("as an admin", "as a normal user"), or `user` if it mentions none. */
export const chooseRole = (text: string): Role =>
  /\bas\s+(?:(?:an?|the)\s+(?:[\w-]+\s+)??)?(admin(?:istrator)?|user)s?\b/i
    .exec(text)?.[1]
    ?.toLowerCase()
    .startsWith('a')
    ? 'admin'
    : 'user';

const nameCaller = ({ caller }: AppAccess): string => caller.email ?? caller.credential_id;

export const tooManyFlows = () =>
  limitReached(maxFlows, 'flows', `An app can have at most ${maxFlows} tests. Delete one first.`);

/** Changes only the fields that were sent. The previous revision's recording is discarded. */
export function changeFlow(db: Db, access: FlowAccess, sent: FlowChange, now: Date): Promise<Flow | Answer<Flow>> {
  return transaction(db, async (db) => {
    const before = await lockFlow(db, { ...toAppKey(access), id: access.flow.id });
    if (before === undefined || before.deleting_since !== null) throw notFound('flow_not_found');
    // Checked while the lock is held, which startExecution also takes.
    if ((await findActiveExecution(db, toAppKey(access), before.id)) !== undefined) throw flowBusy();
    const fields = (Object.keys(sent) as (keyof FlowChange)[]).filter(
      (field) => sent[field] !== undefined && !isDeepStrictEqual(sent[field], before[field]),
    );
    const read = async () => presentFlow((await findFlow(db, access, before.id)) as FlowWithRun);
    if (fields.length === 0) return unchanged(await read());
    const change = { ...sent, revision: before.revision + 1, recording: null, recording_revision: null };
    const after = await saveFlow(db, before, { ...change, updated_date: now });
    const pick = (flow: FlowRow) => Object.fromEntries(fields.map((field) => [field, flow[field]]));
    await audit(
      db,
      access,
      { ...targetOf(after), type: 'test_flow.updated', before: pick(before), after: pick(after) },
      now,
    );
    return read();
  });
}

export const targetOf = ({ id, app_id }: Pick<FlowRow, 'id' | 'app_id'>) => ({
  target: { kind: 'test_flow', id },
  app_id,
});

const flowBusy = () =>
  new Problem(
    'conflict',
    'flow_busy',
    'This test is already running. Wait until the run has ended, or cancel it with cancelExecution.',
  );
