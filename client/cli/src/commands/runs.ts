// `plinthctl runs why`: why a run of a workflow failed, with its steps.

import type { PlinthApp, WorkflowRun, WorkflowStep } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError } from '../exit.ts';
import { findId } from '../names.ts';
import { type AppOption, appOption } from '../options.ts';
import { facts, table, wrap } from '../output.ts';

interface WhyOptions extends AppOption {
  readonly workflow?: string;
}

export const define: Define = (command, cli) => {
  command
    .command('why')
    .description('Say why a run failed: by default the newest one that did')
    .argument('[run]', 'the id of a run')
    .option(...appOption)
    .option('--workflow <workflow>', 'the id or name of a workflow, whose newest failed run is meant')
    .action((run: string | undefined, options: WhyOptions) => why(cli, run, options));
};

async function why(cli: Cli, wished: string | undefined, { app: named, workflow }: WhyOptions): Promise<void> {
  const { app, app_id, plinth } = await cli.connectToApp(named);
  const workflow_id = workflow === undefined ? undefined : await findId(plinth, 'workflow_id', workflow, { app_id });
  const found = await findRun(app, wished, workflow_id);
  const ids = { workflow_id: found.workflow_id, run_id: found.run_id };
  const run = await app.getRun(ids);
  if (run.status !== 'failed')
    throw new CommandError(`This run is ${run.status}. Only a run that failed can be explained.`, 'run_not_failed');
  const { data, notes } = await cli.output.during(
    'Asking for an explanation',
    app.analyzeRun(ids, { signal: cli.signal }).answer(),
  );
  const result = {
    run,
    failure_class: notes.failureClass ?? null,
    failure_step: notes.failureStep ?? null,
    explanation: data.explanation,
    explanation_source: notes.explanationSource ?? null,
  };
  await cli.output.show(result, () =>
    [
      facts({
        workflow: run.workflow_name,
        run: run.run_id,
        started: `${run.started_at}, ${run.trigger_type}`,
        failed: `after ${run.duration_ms ?? 0} ms${notes.failureClass === undefined ? '' : `: ${notes.failureClass.replaceAll('_', ' ')}`}`,
      }),
      '',
      describeSteps(run.steps ?? [], notes.failureStep),
      '',
      ...(run.error_message === null ? [] : [wrap(run.error_message)]),
      data.explanation === ''
        ? 'There is no explanation: the language model is not configured, or not available.'
        : wrap(data.explanation),
    ].join('\n'),
  );
}

async function findRun(
  app: PlinthApp,
  run_id: string | undefined,
  workflow_id: string | undefined,
): Promise<WorkflowRun> {
  const runs =
    workflow_id === undefined
      ? app.listAppRuns(run_id === undefined ? { status: 'failed' } : {})
      : app.listWorkflowRuns({ workflow_id, ...(run_id === undefined && { status: 'failed' as const }) });
  for await (const run of runs) if (run_id === undefined || run.run_id === run_id) return run;
  throw new CommandError(run_id === undefined ? 'No run has failed.' : `There is no run ${run_id}.`, 'not_found');
}

const describeSteps = (steps: readonly WorkflowStep[], failed: number | undefined): string =>
  table(
    steps,
    [
      ['step', ({ number }) => (number === failed ? `${number} *` : number)],
      ['name', ({ name }) => name],
      ['task', ({ task_type }) => task_type],
      ['status', ({ status }) => status],
      ['error', ({ error }) => error?.detail ?? ''],
    ],
    'No step was recorded.',
  );
