// Explains a failed run (docs/api/workflows.md#explanations). The explanation is generated once and stored.
// Calls that arrive during the generation wait for it. No database connection is held while the model writes.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { countUnpaid, uncountUnpaid } from '../../../core/credits/unpaid.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
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
  failLease,
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
  /** False if the operator has disabled sending runs to the model. */
  readonly isAnalysisOn: boolean;
  /** Returns the values of all the app's secrets. */
  readonly listSecretValues: (db: Db, access: AppAccess) => Promise<readonly string[]>;
  readonly storage: StorageQuota;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly clock: Clock;
  readonly shutdownSignal: AbortSignal;
}

export type RunAccess = AppAccess & { readonly run: RunSummary };

type Source = 'generated' | 'stored' | 'none';

const waitMs = 60_000;
/**
 * Longer than any generation, including reading and storing. If a process still holds its lease after this, it has
 * crashed.
 */
const leaseSeconds = Math.ceil(generationMs / 1000) + 15;
/** How long a run is not explained again after the model gave no usable answer. */
const retrySeconds = 60 * 60;
/** More than an explanation usually stores (core/storage/stored-tables.ts). */
const explanationBytes = 3_000;
/** The longest that a call can take: it waits for a process that crashes, then generates the explanation itself. */
export const maxAnswerSeconds = (waitMs + generationMs) / 1000;

export async function analyzeRun(db: Db, deps: AnalysisDeps, access: RunAccess): Promise<Answer<Explanation>> {
  const { run } = access;
  if (run.status !== 'failed') throw runNotFailed();
  const failureClass = classifyFailure({ ...run, failure: await findFailure(db, run) });
  const found = deps.isAnalysisOn ? await findOrGenerate(db, deps, { access, failureClass }) : undefined;
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
  new Problem('bad_request', 'run_not_failed', "Only failed runs can be explained. Check the run's `status` first.");

/** The failed step. If the platform ended the run, this is the last step, or 0 if there are no steps. */
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
 * Returns undefined if there is no explanation and none could be generated. Example with three calls, of which A is in
 * another process:
 *
 *   A  takes the run's lease and calls the model                      → generated
 *   B  finds the lease, and waits until the explanation is stored     → stored
 *   C  also waits, but A's process crashes; once the lease has expired, C takes it over
 *
 * If the model fails for A, the lease ends without an explanation, and the waiting calls get none. If each of them
 * called the model again, the last call would wait for minutes. Nobody pays for explanations: a run that could not be
 * explained is not tried again for an hour, and a workspace has a number of generations a day.
 */
async function findOrGenerate(db: Db, deps: AnalysisDeps, subject: Subject): Promise<Found | undefined> {
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
      // The generation ended without an explanation.
      if (awaited !== undefined && lease?.holder !== awaited) return undefined;
      if (lease?.is_failed) return undefined;
      if (lease === undefined || lease.is_expired) {
        if (!(await model.check())) return undefined;
        await deps.storage.admit(db, subject.access, explanationBytes, deps.clock.now());
        const holder = newId();
        if (await takeLease(db, run, holder, leaseSeconds)) return await generateUnderLease(db, deps, subject, holder);
        awaited = undefined; // another call has just taken the lease
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
  deps: AnalysisDeps,
  subject: Subject,
  holder: string,
): Promise<Found | undefined> {
  const { run } = subject.access;
  let hasFailed = false;
  try {
    // Another process may have stored an explanation between our read and taking the lease.
    const state = await findAnalysisState(db, run);
    if (state?.stored !== undefined) return { stored: state.stored, source: 'stored' };
    const work = { workspace_id: run.workspace_id, kind: 'explanation', subject_id: run.workspace_id } as const;
    const countedAt = deps.clock.now();
    if (!(await countUnpaid(db, work, countedAt))) return undefined;
    const generated = await generate(db, deps, subject);
    if (generated === 'unavailable') await uncountUnpaid(db, work, countedAt);
    hasFailed = generated === 'unusable';
    return typeof generated === 'string' ? undefined : await store(db, run, generated, holder, deps.clock.now());
  } finally {
    // If this fails, the lease expires.
    await (hasFailed ? failLease(db, run, holder, retrySeconds) : releaseLease(db, run, holder)).catch(() => {});
    deps.wake.notify(toTopic(run.id));
  }
}

async function generate(
  db: Db,
  deps: AnalysisDeps,
  { access, failureClass }: Subject,
): Promise<NewExplanation | 'unusable' | 'unavailable'> {
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
  if (typeof generated === 'string') return generated;
  return {
    explanation: generated.text,
    model: toStorableText(generated.model),
    prompt_version: promptVersion,
    input_hash: hashPrompt(document),
  };
}

/** Stores the explanation and ends the lease in one transaction, so both become visible together. */
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
  // This process was suspended until its lease expired, and another process has stored an explanation.
  const state = await findAnalysisState(db, run);
  return state?.stored && { stored: state.stored, source: 'stored' };
}
