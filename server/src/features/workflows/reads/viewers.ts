// What viewers of an app see of a run. Runs read records as the app, without the rules that restrict its viewers, so
// inputs, outputs and the texts of errors may contain what a viewer must not read.
import { titleOf } from '../runs/errors.ts';
import type { RunSummary, StepRow } from '../store/rows.ts';

const hidden = 'Only editors of the app can read why.';

export const hideMessage = <Row extends Pick<RunSummary, 'error_message'>>(run: Row): Row =>
  run.error_message === null ? run : { ...run, error_message: hidden };

export const hideValues = (step: StepRow): StepRow => ({
  ...step,
  input: null,
  output: null,
  error: step.error && { ...hideType(step.error.type), status: step.error.status, detail: hidden },
});

/** A definition can raise an error whose type and title it computes from any value. Only types of ours are shown. */
const hideType = (type: string) =>
  titleOf(type) === type ? { type: 'raised', title: 'Error' } : { type, title: titleOf(type) };
