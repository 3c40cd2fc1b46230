// Failed runs that tests write to the database as a worker would, with any steps they need.
import { newId } from '../../src/kit/ids.ts';
import type { World } from './world.ts';

export interface FailedRun {
  readonly status?: 'failed' | 'running' | 'completed' | 'cancelled';
  readonly status_reason?: 'insufficient_credits' | 'timeout' | 'step_limit' | null;
  readonly error_message?: string;
  readonly failure?: object | null;
  /** Each step's output. The last step fails. */
  readonly outputs?: readonly unknown[];
}

interface FailedWorkflow {
  readonly id: string;
  readonly name: string;
  readonly current_version_id: string;
}

const unauthorized = {
  type: 'authentication',
  title: 'Authentication error',
  status: 401,
  detail: 'The endpoint responded with status 401.',
};

/** Inserts a run and returns its id. */
export async function insertFailedRun(
  { db, clock }: World,
  app: { readonly id: string; readonly workspace_id: string },
  workflow: FailedWorkflow,
  {
    status = 'failed',
    status_reason = null,
    failure = { ...unauthorized, cause: 'status' },
    error_message = `Task 'last' failed: ${unauthorized.detail}`,
    outputs = [{ a: 1 }, { b: 2 }, null],
  }: FailedRun = {},
): Promise<string> {
  const id = newId();
  const now = clock.now();
  const { workspace_id } = app;
  const run = {
    id,
    workspace_id,
    app_id: app.id,
    workflow_id: workflow.id,
    workflow_name: workflow.name,
    version_id: workflow.current_version_id,
    trigger_type: 'manual' as const,
    status,
    status_reason,
    input: '{}',
    started_at: now,
    completed_at: status === 'running' ? null : now,
    steps_count: outputs.length,
    error_message,
    failed_step: failure === null ? null : outputs.length,
    failure: failure && JSON.stringify(failure),
  };
  await db.insertInto('workflow_runs').values(run).execute();
  const steps = outputs.map((output, index) => {
    const isLast = index === outputs.length - 1;
    return {
      workspace_id,
      run_id: id,
      number: index + 1,
      task_path: `/do/${index}/task`,
      name: isLast ? 'last' : 'task',
      task_type: 'set',
      status: isLast ? ('failed' as const) : ('completed' as const),
      started_at: now,
      completed_at: now,
      input: '{}',
      output: JSON.stringify(output),
      error: isLast ? JSON.stringify(unauthorized) : null,
    };
  });
  if (steps.length > 0) await db.insertInto('workflow_steps').values(steps).execute();
  return id;
}
