// The document about a failed run that is sent to the language model. It contains the definition, the error and
// the last steps, without credentials, in at most 32 KiB.
import type { EvidenceStep } from '../store/analyses.ts';
import type { FailureClass } from './classify.ts';
import type { Hider } from './hide.ts';

export const maxSteps = 10;
// The limit is 32 KiB, including the lines around the document.
const maxDocumentBytes = 32 * 1024 - 512;

/** A run's recorded data. */
export interface Evidence {
  readonly workflowName: string;
  readonly triggerType: string;
  readonly failureClass: FailureClass;
  readonly errorMessage: string | null;
  readonly failedStep: number | null;
  readonly definition: unknown;
  readonly steps: readonly EvidenceStep[];
}

/** Writes the document. Long values are cut to ever shorter lengths until the document fits. */
export function writeMaterial(evidence: Evidence, hider: Hider): string {
  const safe = hideIn(evidence, hider);
  for (let share = 1; ; share /= 2) {
    const document = JSON.stringify(describe(safe, share));
    if (Buffer.byteLength(document) <= maxDocumentBytes) return document;
  }
}

/** Credentials are hidden before anything is cut, because part of a credential would not be recognised. */
function hideIn(evidence: Evidence, { hide }: Hider): Evidence {
  const { workflowName, errorMessage, definition, steps } = evidence;
  const hideStep = ({ name, task_path, input, output, error, ...rest }: EvidenceStep): EvidenceStep => ({
    ...rest,
    name: String(hide(name)),
    task_path: String(hide(task_path)),
    input: hide(input),
    output: hide(output),
    error: hide(error),
  });
  return {
    ...evidence,
    workflowName: String(hide(workflowName)),
    errorMessage: errorMessage && String(hide(errorMessage)),
    definition: hide(definition),
    steps: steps.slice(-maxSteps).map(hideStep),
  };
}

/** The maximum length of each kind of value, in characters. */
const limits = { failedValue: 6_000, value: 1_500, error: 3_000, definition: 12_000, name: 200 };

function describe(safe: Evidence, share: number): object {
  const { failedStep, failureClass } = safe;
  const cutTo = (value: unknown, limit: number) => cut(value, Math.floor(limit * share));
  const describeStep = (step: EvidenceStep) => {
    const limit = step.number === failedStep ? limits.failedValue : limits.value;
    return {
      step: step.number,
      name: cutTo(step.name, limits.name),
      task: step.task_type,
      path: cutTo(step.task_path, 2 * limits.name),
      status: step.status,
      attempt: step.attempt,
      input: cutTo(step.input, limit),
      output: cutTo(step.output, limit),
      error: cutTo(step.error, limits.error),
    };
  };
  return {
    workflow: cutTo(safe.workflowName, limits.name),
    trigger: safe.triggerType,
    failure: { kind: failureClass, step: failedStep, message: cutTo(safe.errorMessage, limits.error) },
    steps: safe.steps.map(describeStep),
    definition: describeDefinition(safe, Math.floor(limits.definition * share)),
  };
}

/** Reduces a long definition to the failed task. The steps already show the other tasks. */
function describeDefinition({ definition, steps, failedStep }: Evidence, limit: number): unknown {
  if (JSON.stringify(definition ?? null).length <= limit) return definition;
  const path = steps.find(({ number }) => number === failedStep)?.task_path;
  const task = path === undefined ? undefined : followPointer(definition, path);
  return { shortened: true, ...(task === undefined ? {} : { failed_task: cut(task, limit) }) };
}

/** Returns the value at a JSON pointer, or undefined if there is none. */
function followPointer(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Replaces an overlong value with the beginning of its JSON. */
function cut(value: unknown, limit: number): unknown {
  const json = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return json.length <= limit ? value : `${json.slice(0, limit).toWellFormed()}…`;
}
