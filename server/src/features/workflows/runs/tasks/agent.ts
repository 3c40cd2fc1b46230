// The task `call: agent.send` (docs/api/workflows.md#agents), which gets an agent's reply to a single message.
// Credits are reserved before the reply is requested. They are charged or, if there is no reply, refunded when the step
// is recorded, so they are settled exactly once.
import { reserve, settle } from '../../../../core/credits/reservations.ts';
import { transaction } from '../../../../kit/db/database.ts';
import { Problem } from '../../../../kit/problem.ts';
import type { AgentCall } from '../../definition/model.ts';
import { listExpressions } from '../../definition/templates.ts';
import type { AgentKey } from '../deps.ts';
import { fail, stop } from '../errors.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import { type Execution, keep, recordState } from '../execution.ts';
import type { CallResult, PreparedTask } from './prepared-task.ts';

const maxContentLength = 100_000;
const maxTimeoutMs = 2 * 60 * 1000;
// Longer than any call, even if it is repeated after a crash.
const leaseMs = 60 * 60 * 1000;

export async function prepareAgent(execution: Execution, call: AgentCall, scope: Scope): Promise<PreparedTask> {
  const shownInput = await evaluate(execution, { agent_id: call.agentId, content: call.content }, scope);
  const { agent_id, content: value } = shownInput;
  if (typeof agent_id !== 'string') throw fail('validation', '`agent_id` must be a string.');
  const content = typeof value === 'string' ? value : JSON.stringify(value);
  if (content === '' || content.length > maxContentLength)
    throw fail('validation', 'The content is empty or longer than 100,000 characters.');
  const { workspace_id, app } = execution.access;
  // Saving the definition required access to the agents that it names, but not to those that it computes.
  const isNamed = listExpressions(call.agentId).length === 0;
  const agent: AgentKey = { workspace_id, id: agent_id, owner_id: isNamed ? app.owner_id : null };
  return {
    kind: 'call',
    shownInput,
    call: async ({ signal, timeoutMs }) => {
      const reservationId = await reserveOnce(execution, agent, content);
      const within = AbortSignal.timeout(Math.min(timeoutMs, maxTimeoutMs));
      return ask(execution, agent, content, reservationId, AbortSignal.any([signal, within]), within);
    },
  };
}

const noAgent = () =>
  fail('configuration', "The agent does not exist, or the app's owner can't use it.", { status: 404 });

/** The reservation is stored, so if the call is repeated after a crash, it uses the same one. */
async function reserveOnce(execution: Execution, agent: AgentKey, content: string): Promise<string> {
  const { db, deps, run, state } = execution;
  if (execution.reservationId !== null) return execution.reservationId;
  const amount = await deps.agentReplies.estimate(db, agent, content);
  if (amount === undefined) throw noAgent();
  const { workspace_id, app_id, id: reference_id, started_by: user_id } = run;
  const spend = { workspace_id, app_id, user_id, operation: 'runWorkflow', reference_id, leaseMs, amount };
  try {
    const { reservationId, status } = await transaction(db, async (db) => {
      const { id: reservationId } = await reserve(db, spend, deps.clock.now());
      return { reservationId, status: await recordState(db, execution, state, reservationId) };
    });
    keep(execution, state, status, reservationId);
    return reservationId;
  } catch (error) {
    if (error instanceof Problem && error.kind === 'payment_required')
      throw stop('insufficient_credits', error.message, 402);
    throw error;
  }
}

async function ask(
  execution: Execution,
  agent: AgentKey,
  content: string,
  reservationId: string,
  signal: AbortSignal,
  within: AbortSignal,
): Promise<CallResult> {
  const { db, deps, run } = execution;
  const reservation = { workspace_id: run.workspace_id, id: reservationId };
  const answer = await deps.agentReplies.reply(db, agent, content, signal);
  if (answer !== undefined && 'content' in answer)
    return {
      output: { content: answer.content },
      record: async (db, now) => void (await settle(db, reservation, answer.credits, now)),
    };
  // The reservation is kept, because the call will be repeated.
  if (signal.aborted && !within.aborted) throw new Error('the call was abandoned');
  if (answer === undefined) throw noAgent();
  if (within.aborted) throw fail('timeout', 'The agent did not reply in time.', { cause: 'timeout' });
  throw fail('communication', 'The language model is unavailable or did not complete the reply.', {
    status: 503,
    cause: 'model',
  });
}
