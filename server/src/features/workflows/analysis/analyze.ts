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
  insertExplanation,
  listLastSteps,
  type NewExplanation,
  releaseLease,
  type StoredExplanation,
  takeLease,
} from '../store/analyses.ts';
import { findDefinition } from '../store/runs.ts';
import { classifyFailure, type RecordedFailure } from './classify.ts';
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

/** What a failed run has recorded. */
export interface AnalyzedRun {
  readonly id: string;
  readonly workspace_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly version_id: string;
  readonly trigger_type: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly error_message: string | null;
  readonly steps_count: number;
  readonly failed_step: number | null;
  readonly failure: unknown;
}

export type RunAccess = AppAccess & { readonly run: AnalyzedRun };

interface Explanation {
  readonly explanation: string;
  readonly generated_at: string;
}

type Source = 'generated' | 'stored' | 'none';

const waitMs = 60_000;
/** Longer than a generation takes, with reading and storing: whoever holds it for longer has crashed. */
const leaseSeconds = Math.ceil(generationMs / 1000) + 15;

export async function analyzeRun(db: Db, access: RunAccess, deps: AnalysisDeps): Promise<Answer<Explanation>> {
  if (access.run.status !== 'failed') throw runNotFailed();
  const found = deps.isAnalysisOn ? await findOrGenerate(db, access, deps) : undefined;
  const headers = {
    'x-failure-class': classify(access.run),
    'x-failure-step': String(stepOf(access.run)),
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

// The column was written from this type, by runs/end.ts.
const classify = ({ status_reason, failure }: AnalyzedRun) =>
  classifyFailure({ status_reason, failure: failure as RecordedFailure | null });

/** The step that failed. If the platform ended the run, the last one; 0 if there is none. */
const stepOf = ({ failed_step, steps_count }: AnalyzedRun): number => failed_step ?? steps_count;

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
async function findOrGenerate(db: Db, access: RunAccess, deps: AnalysisDeps): Promise<Found | undefined> {
  const { run } = access;
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
        if (!model.configured || !(await model.check())) return undefined;
        const holder = newId();
        if (await takeLease(db, run, holder, leaseSeconds)) return await generateUnderLease(db, access, holder, deps);
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
  access: RunAccess,
  holder: string,
  deps: AnalysisDeps,
): Promise<Found | undefined> {
  const { run } = access;
  try {
    // Another process may have stored one between our look and our lease.
    const state = await findAnalysisState(db, run);
    if (state?.stored !== undefined) return { stored: state.stored, source: 'stored' };
    const generated = await generate(db, access, deps);
    return generated && (await store(db, run, generated, holder, deps.clock.now()));
  } finally {
    await releaseLease(db, run, holder).catch(() => {}); // it expires by itself
    deps.wake.notify(toTopic(run.id));
  }
}

async function generate(db: Db, access: RunAccess, deps: AnalysisDeps): Promise<NewExplanation | undefined> {
  const { run } = access;
  const hider = createHider(await deps.listSecretValues(db, access));
  const document = writeMaterial(
    {
      workflowName: run.workflow_name,
      triggerType: run.trigger_type,
      failureClass: classify(run),
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
  run: AnalyzedRun,
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
