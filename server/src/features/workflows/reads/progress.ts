// Streams a run's progress while a worker executes it. Any process can stream any run, and the run does not
// depend on its followers.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Source } from '../../../core/streams/reader.ts';
import { answerWithEvents, type Streams, writeEvent } from '../../../core/streams/streams.ts';
import { type Answer, answerWithFollowUp } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import type { HeldRequest } from '../../../kit/http/operation.ts';
import { presentRun, presentStep } from '../contract.ts';
import { toRunTopic } from '../runs/execution.ts';
import type { RunSummary, StepRow } from '../store/rows.ts';
import { findRun, listStepsFrom } from '../store/run-reads.ts';
import { hideMessage, hideValues } from './viewers.ts';

export interface ProgressDeps {
  readonly streams: Streams;
}

/**
 * A caller's position among a run's events. A long step has two events: phase 0 while it runs, and phase 1 once it has
 * ended. An event's id is `run:number:phase`, which the caller sends back as `Last-Event-ID`.
 */
interface Position {
  readonly number: number;
  readonly phase: number;
}

export const streamSeconds = 300;
const batch = { limit: 50, maxBytes: 256 * 1024 };

type FollowAccess = AppAccess & { readonly run: RunSummary };

interface Viewer {
  readonly hasValues: boolean;
  readonly lastEventId: unknown;
  readonly held: HeldRequest;
}

/**
 * The stream ends with the run, after five minutes, or when the process shuts down. In the latter two cases the caller
 * can resume it.
 */
export function answerWithProgress({ streams }: ProgressDeps, access: FollowAccess, viewer: Viewer): Answer<never> {
  const from = parsePosition(access.run, viewer.lastEventId);
  streams.takePlace(access, viewer.held);
  const answer = answerWithEvents(viewer.held, (closed) => followRun(streams, access.run, viewer, from, closed), {
    maxMs: streamSeconds * 1000,
    ...(!viewer.hasValues && { partial: ['step_values'] }),
  });
  return answerWithFollowUp({} as never, async () => answer); // returns the request's share, which reads need
}

async function* followRun(
  streams: Streams,
  run: RunSummary,
  { hasValues, held }: Viewer,
  from: Position,
  closed: AbortSignal,
): AsyncGenerator<string> {
  let last = from;
  const toId = ({ number, phase }: Position) => `${run.id}:${number}:${phase}`;
  function* present({ position, step, withoutValues }: ProgressItem): Generator<string> {
    last = position;
    yield writeEvent(toId(position), { event: 'run.step', data: hasValues ? step : withoutValues });
  }
  const following = { from, maxMs: streamSeconds * 1000, held, closed };
  const end = yield* streams.follow(toSource(run), following, present);
  if (end.reason !== 'ended' || end.value === undefined) return;
  const { status, data, withoutMessage } = end.value;
  const event = { event: `run.${status}`, data: hasValues ? data : withoutMessage };
  yield writeEvent(toId({ number: last.number, phase: 2 }), event);
}

interface ProgressItem {
  readonly position: Position;
  readonly step: object;
  readonly withoutValues: object;
}

/** A run that has ended, or undefined if it was removed. */
type ProgressEnd = { readonly status: string; readonly data: object; readonly withoutMessage: object } | undefined;

const toSource = (run: RunSummary): Source<Position, ProgressItem, ProgressEnd> => ({
  topic: toRunTopic(run.id),
  owner: { owner: run.workspace_id, part: run.app_id },
  compare: (a, b) => a.number - b.number || a.phase - b.phase,
  async read(db, from) {
    // Read before the steps, so if the run has ended, all its steps are included.
    const current = await findRun(db, { workspace_id: run.workspace_id, id: run.workflow_id }, run.id);
    const steps = await listStepsFrom(db, run, from.number, batch);
    const items = steps.map(toItem);
    const hasMore = steps.at(-1)?.has_next ?? false;
    if (hasMore || current?.completed_at === null) return { items, hasMore };
    return { items, hasMore, end: { value: current && toEnd(current) } };
  },
});

const toEnd = (run: RunSummary) => ({
  status: run.status,
  data: presentRun(run),
  withoutMessage: presentRun(hideMessage(run)),
});

const toItem = (step: StepRow): ProgressItem => ({
  position: { number: step.number, phase: step.completed_at === null ? 0 : 1 },
  step: presentStep(step),
  withoutValues: presentStep(hideValues(step)),
});

const idForm = /^([0-9a-f-]{36}):(\d{1,4}):([0-2])$/;

function parsePosition(run: RunSummary, header: unknown): Position {
  if (header === undefined) return { number: 0, phase: 2 };
  const [, runId, number, phase] = idForm.exec(String(header)) ?? [];
  if (runId !== run.id)
    throw new ValidationError([
      { loc: ['header', 'Last-Event-ID'], msg: 'must be the id of an event from this run', type: 'value_error' },
    ]);
  return { number: Number(number), phase: Number(phase) };
}
