// Owns explaining a failed run (docs/api/workflows.md#explanations): generated once, by one process at a time, and stored. Whoever
// asks meanwhile waits for that generation. No connection to the database is held while the model writes.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { WakeableSleep, type WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { newId } from '../../../kit/ids.ts';
import { Problem } from '../../../kit/problem.ts';
import { toStorableText } from '../../../kit/text.ts';
import type { Db } from '../../../tables.ts';
import {
  findAnalysisState,
  findFailure,
  insertExplanation,
  listLastSteps,
  type NewExplanation,
  releaseLease,
  type StoredExplanation,
  takeLease,
} from '../store/analyses.ts';
import type { RunSummary } from '../store/rows.ts';
import { findDefinition } from '../store/runs.ts';
import { classifyFailure, type FailureClass } from './classify.ts';
import type { Explanation } from './contract.ts';
import { generateExplanation, generationMs } from './generate.ts';
import { createHider } from './hide.ts';
import { maxSteps, writeMaterial } from './material.ts';
import { hashPrompt, promptVersion } from './prompt.ts';

export interface AnalysisDeps {
  readonly model: LanguageModel;
  /** False: the operator does not want runs to be sent to the model. */
  readonly isAnalysisOn: boolean;
  /** The values of all secrets of the app. */
  readonly listSecretValues: (db: Db, access: AppAccess) => Promise<readonly string[]>;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly clock: Clock;
  readonly shutdownSignal: AbortSignal;
}

export type RunAccess = AppAccess & { readonly run: RunSummary };

type Source = 'generated' | 'stored' | 'none';

const waitMs = 60_000;
/** Longer than a generation takes, with reading and storing: whoever holds it for longer has crashed. */
const leaseSeconds = Math.ceil(generationMs / 1000) + 15;
/** Whoever waited for a process that crashed generates the explanation after that. */
export const maxAnswerSeconds = (waitMs + generationMs) / 1000;

export async function analyzeRun(db: Db, access: RunAccess, deps: AnalysisDeps): Promise<Answer<Explanation>> {
  const { run } = access;
  if (run.status !== 'failed') throw runNotFailed();
  const failureClass = classifyFailure({ ...run, failure: await findFailure(db, run) });
  const found = deps.isAnalysisOn ? await findOrGenerate(db, { access, failureClass }, deps) : undefined;
  const headers = {
    'x-failure-class': failureClass,
    'x-failure-step': String(stepOf(run)),
    'x-explanation-source': (found?.source ?? 'none') satisfies Source,
  };
  const body = {
    explanation: found?.stored.explanation ?? '',
    generated_at: found?.stored.generated_at.toISOString() ?? '',
  };
  return withNotes(body, { headers });
}

const runNotFailed = () =>
  new Problem('bad_request', 'run_not_failed', "Only a failed run can be explained. Read the run's `status` first.");

/** The step that failed. If the platform ended the run, the last one; 0 if there is none. */
const stepOf = ({ failed_step, steps_count }: RunSummary): number => failed_step ?? steps_count;

interface Subject {
  readonly access: RunAccess;
  readonly failureClass: FailureClass;
}

interface Found {
  readonly stored: StoredExplanation;
  readonly source: Source;
}

const toTopic = (runId: string): string => `analysis:${runId}`;

/**
 * Undefined if there is none and none could be generated. Example: three calls, the first of them in another process.
 *
 *   A  takes the lease of the run and asks the model                  → generated
 *   B  finds the lease, and waits until the explanation is stored     → stored
 *   C  the same, but the process of A crashes: when the lease has expired, C takes it over
 *
 * If the model fails A, the lease ends without an explanation, and those who waited for it get none either: asking the model again
 * for each of them would keep the last one waiting for minutes.
 */
async function findOrGenerate(db: Db, subject: Subject, deps: AnalysisDeps): Promise<Found | undefined> {
  const { run } = subject.access;
  const { wake, model, shutdownSignal } = deps;
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toTopic(run.id), idle.wake);
  const waitsUntil = performance.now() + waitMs;
  let awaited: string | undefined;
  try {
    for (;;) {
      const state = await findAnalysisState(db, run);
      if (state?.stored !== undefined) return { stored: state.stored, source: 'stored' };
      if (state === undefined || shutdownSignal.aborted) return undefined;
      const { lease } = state;
      if (awaited !== undefined && lease?.holder !== awaited) return undefined; // it ended without an explanation
      if (lease === undefined || lease.is_expired) {
        if (!(await model.check())) return undefined;
        const holder = newId();
        if (await takeLease(db, run, holder, leaseSeconds)) return await generateUnderLease(db, subject, holder, deps);
        awaited = undefined; // another call has just taken it
        continue;
      }
      awaited = lease.holder;
      const leftMs = waitsUntil - performance.now();
      if (leftMs <= 0) return undefined;
      await idle.sleep(Math.min(wake.pollMs(), leftMs), shutdownSignal);
    }
  } finally {
    unlisten();
  }
}

async function generateUnderLease(
  db: Db,
  subject: Subject,
  holder: string,
  deps: AnalysisDeps,
): Promise<Found | undefined> {
  const { run } = subject.access;
  try {
    // Another process may have stored one between our look and our lease.
    const state = await findAnalysisState(db, run);
    if (state?.stored !== undefined) return { stored: state.stored, source: 'stored' };
    const generated = await generate(db, subject, deps);
    return generated && (await store(db, run, generated, holder, deps.clock.now()));
  } finally {
    await releaseLease(db, run, holder).catch(() => {}); // it expires by itself
    deps.wake.notify(toTopic(run.id));
  }
}

async function generate(
  db: Db,
  { access, failureClass }: Subject,
  deps: AnalysisDeps,
): Promise<NewExplanation | undefined> {
  const { run } = access;
  const hider = createHider(await deps.listSecretValues(db, access));
  const document = writeMaterial(
    {
      workflowName: run.workflow_name,
      triggerType: run.trigger_type,
      failureClass,
      errorMessage: run.error_message,
      failedStep: run.failed_step,
      definition: await findDefinition(db, run),
      steps: await listLastSteps(db, run, maxSteps),
    },
    hider,
  );
  const isStep = (number: number) => number >= 1 && number <= run.steps_count;
  const generated = await generateExplanation(document, {
    model: deps.model,
    hider,
    isStep,
    signal: deps.shutdownSignal,
  });
  return (
    generated && {
      explanation: generated.text,
      model: toStorableText(generated.model),
      prompt_version: promptVersion,
      input_hash: hashPrompt(document),
    }
  );
}

/** The explanation and the end of the lease become visible together. */
async function store(
  db: Db,
  run: RunSummary,
  generated: NewExplanation,
  holder: string,
  now: Date,
): Promise<Found | undefined> {
  const isStored = await transaction(db, async (db) => {
    const isInserted = await insertExplanation(db, run, generated, now);
    await releaseLease(db, run, holder);
    return isInserted;
  });
  if (isStored) return { stored: { explanation: generated.explanation, generated_at: now }, source: 'generated' };
  // A process that was frozen for longer than its lease comes second.
  const state = await findAnalysisState(db, run);
  return state?.stored && { stored: state.stored, source: 'stored' };
}
