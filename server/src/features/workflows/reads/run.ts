// Reads one run as JSON, as a stream while it is running, or as a diagram.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { Answer, accepts, withNotes } from '../../../kit/http/answer.ts';
import type { HeldRequest } from '../../../kit/http/operation.ts';
import type { Db } from '../../../tables.ts';
import { presentRun, presentStep } from '../contract.ts';
import { readStored } from '../draft.ts';
import type { RunSummary, WorkflowRow } from '../store/rows.ts';
import { listSteps, listTaskStatuses } from '../store/run-reads.ts';
import { findVersion } from '../store/versions.ts';
import { isEditor } from '../workflow.ts';
import { drawDiagram, mermaid, type TaskStatuses } from './diagram.ts';
import { answerWithProgress, type ProgressDeps } from './progress.ts';
import { hideMessage, hideValues } from './viewers.ts';

export type ReadDeps = ProgressDeps;
export type RunAccess = AppAccess & { readonly workflow: WorkflowRow; readonly run: RunSummary };
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A value takes up to 16 KiB, so the values in a response take at most about 3 MiB. */
const maxStepsWithValues = 100;

export function readRun(
  db: Db,
  deps: ReadDeps,
  access: RunAccess,
  { values_from }: { readonly values_from?: number },
  { headers, held }: { readonly headers: Headers; readonly held: HeldRequest },
) {
  const { workflow, run } = access;
  const hasValues = isEditor(access);
  if (accepts(headers, 'text/event-stream'))
    return answerWithProgress(deps, access, { hasValues, lastEventId: headers['last-event-id'], held });
  if (accepts(headers, mermaid)) return drawRun(db, workflow, run);
  return hasValues ? readSteps(db, run, values_from) : readStepsWithoutValues(db, run);
}

async function readSteps(db: Db, run: RunSummary, valuesFrom: number | undefined) {
  const from = valuesFrom ?? Math.max(1, run.steps_count - maxStepsWithValues + 1);
  const to = from + maxStepsWithValues - 1;
  const rows = await listSteps(db, run, from, to);
  const isPartial = rows.some(({ number }) => number < from || number > to);
  const body = { ...presentRun(run), steps: rows.map(presentStep) };
  return isPartial ? withNotes(body, { partial: ['step_values'] }) : body;
}

async function readStepsWithoutValues(db: Db, run: RunSummary) {
  const steps = (await listSteps(db, run, 1, 0)).map((step) => presentStep(hideValues(step)));
  return withNotes({ ...presentRun(hideMessage(run)), steps }, { partial: ['step_values'] });
}

/** The definition may no longer exist, because old versions are removed once there are a hundred newer ones. */
async function drawRun(db: Db, workflow: WorkflowRow, run: RunSummary): Promise<Answer<never>> {
  const version = await findVersion(db, workflow, run.version_id);
  return draw(version?.definition, run.trigger_type, await listTaskStatuses(db, run));
}

export const drawWorkflow = ({ trigger_type }: WorkflowRow, definition: unknown): Answer<never> =>
  draw(definition, trigger_type);

/** The text is sent as it is, so its type is not checked against the response schema. */
function draw(source: unknown, trigger: string, statuses?: TaskStatuses): Answer<never> {
  const definition = source === undefined ? undefined : readStored(source);
  const text = definition === undefined ? withoutDefinition : drawDiagram(definition, trigger, statuses);
  return new Answer(text as never, {}, 200, `${mermaid}; charset=utf-8`);
}

const withoutDefinition = 'flowchart TD\n  gone["The definition was removed or is invalid."]\n';
