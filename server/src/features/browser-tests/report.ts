// A run's report: how it is built from the browser's findings, and how it is presented.
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Evidence } from '../../gateways/browser/session/types.ts';
import { notFound } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { TestReport } from './contract.ts';
import { type EvidenceAddress, nameScreenshot, nameTrace } from './evidence.ts';
import type { RunResult } from './run/types.ts';
import { type Issue, judge, type Verdict } from './run/verdict.ts';
import { listEvidenceFiles } from './store/evidence.ts';
import { type ExecutionRow, findExecution, findReport } from './store/executions.ts';

/** The result of a run's steps, kept until the run has been analysed. */
export interface StoredResult {
  readonly result: RunResult;
  readonly evidence: Evidence;
  /** The claim that performed the steps, which is part of the file names. */
  readonly claims: number;
}

/** A stored report, which contains file names instead of addresses. */
export interface StoredReport extends Omit<Verdict, 'issues'> {
  readonly issues: readonly Issue[];
  readonly steps: readonly StoredStep[];
  readonly healed: TestReport['healed'];
  readonly trace: string;
  readonly console_errors: TestReport['console_errors'];
  readonly network_failures: TestReport['network_failures'];
}

interface StoredStep {
  readonly number: number;
  readonly action: string;
  readonly result: string;
  readonly source: 'replayed' | 'agent';
  readonly at: string;
  readonly screenshot: string;
}

/** `apiOrigins` lists the origins, besides the app's own, that the app sends requests to. */
export function makeReport({ result, evidence, claims }: StoredResult, apiOrigins: readonly string[]): StoredReport {
  const toMessage = ({ text, step }: { text: string; step: number }) => ({ text, step_number: step });
  return {
    ...judge(result, evidence, apiOrigins),
    steps: result.steps.map(({ number, action, result, source, at }) => ({
      number,
      action,
      result,
      source,
      at: new Date(at).toISOString(), // a string if the result was read from the database
      screenshot: nameScreenshot({ claims }, number),
    })),
    healed: result.steps.flatMap(({ number, healed }) =>
      healed === null ? [] : [{ step_number: number, before: healed.before, after: healed.after }],
    ),
    trace: nameTrace({ claims }),
    console_errors: [...evidence.page_errors, ...evidence.console_errors].map(toMessage),
    network_failures: evidence.network_failures.map(({ step, ...failure }) => ({ ...failure, step_number: step })),
  };
}

export async function getTestReport(
  db: Db,
  access: AppAccess,
  addressOf: EvidenceAddress,
  id: string,
  now: Date,
): Promise<TestReport> {
  const execution = await findExecution(db, access, id);
  const isReady = execution?.analysis_status === 'completed';
  const found = isReady ? await findReport(db, execution) : undefined;
  if (execution === undefined || !found?.report) throw notFound('report_not_found');
  const files = new Set(await listEvidenceFiles(db, execution));
  const toUrl = (file: string | undefined) =>
    file !== undefined && files.has(file) ? addressOf(execution, file, now) : null;
  return presentReport(execution, toStoredReport(found.report), toUrl, found.created_date);
}

/** No validation is needed, because only `makeReport` and the worker write these values. */
const toStoredReport = (stored: unknown): StoredReport => stored as StoredReport;
export const toStoredResult = (stored: unknown): StoredResult => stored as StoredResult;

function presentReport(
  { id }: ExecutionRow,
  { issues, steps, trace, ...rest }: StoredReport,
  toUrl: (file: string | undefined) => string | null,
  created: Date,
): TestReport {
  const screenshots = new Map(steps.map(({ number, screenshot }) => [number, screenshot]));
  return {
    execution_id: id,
    ...rest,
    issues: issues.map((issue) => ({
      ...issue,
      screenshot_url: toUrl(issue.step_number === null ? undefined : screenshots.get(issue.step_number)),
    })),
    steps: steps.map(({ screenshot, ...step }) => ({ ...step, screenshot_url: toUrl(screenshot) })),
    trace_url: toUrl(trace),
    created_date: created.toISOString(),
  };
}
