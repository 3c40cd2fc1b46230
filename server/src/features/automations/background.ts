// Background work for automations: runs and their effect on the automation, scheduled ticks, and removing old
// runs.
import { auditService } from '../../core/audit/audit.ts';
import { findRequiredPlan } from '../../core/auth/plans.ts';
import { warnResponsible } from '../../core/identity/warnings.ts';
import { presentRecordEvent, type RecordEvent } from '../../events.ts';
import { listEvents } from '../../kit/background/events/event-bus.ts';
import { type Outcome, type Queue, retries } from '../../kit/background/queues/queue.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import type { Clock } from '../../kit/clock.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { type ActionDeps, attempt } from './action.ts';
import type { AutomationRow } from './contract.ts';
import { applyReports, maxFailures, type RunReport } from './health.ts';
import {
  listTargets,
  lockAutomations,
  type RunRow,
  type RunTarget,
  removeOldRuns,
  runQueue,
  saveHealth,
  tickDueInMs,
} from './store/runs.ts';
import { startDueRuns } from './ticks.ts';

interface LoadedRun extends RunRow {
  /** Undefined if the automation was deleted. */
  readonly target?: RunTarget;
  /** The input for the condition and the action. Undefined if the event has expired. */
  readonly payload?: unknown;
}

export interface RunDeps extends ActionDeps {
  readonly baseUrl: string;
  readonly clock: Clock;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
/** The delays between a run's three attempts. */
const attemptDelays = retries(minuteMs, 10 * minuteMs);

export const createRunQueue = (deps: RunDeps): Queue<LoadedRun> => ({
  name: runQueue,
  owner: 'app_id',
  byHand: {
    retry: 'The automation has counted the failure. It runs again with its next event or tick.',
    cancel: 'Turn the automation off. Its queued runs then end when they are due.',
  },
  concurrency: 256, // an unresponsive endpoint keeps a run busy for 30 s
  perOwner: 5,
  globalLimits: { concurrencyKey: 'workspace_id', perKey: 16 },
  timeoutMs: 45 * secondMs, // a request takes 30 s at most
  outcomeColumns: { attempts: 'integer', error_message: 'text', completed_at: 'timestamptz' },
  // Applies only to internal errors. A failed action is retried after `attemptDelays`.
  retryMs: retries(secondMs, 10 * secondMs, minuteMs, 10 * minuteMs),
  async load(db, rows) {
    const [targets, events] = await Promise.all([
      listTargets(db, [...new Set(rows.map((row) => row.automation_id))]),
      listEvents<RecordEvent>(db, [...new Set(rows.flatMap((row) => row.event_id ?? []))]),
    ]);
    const payloads = new Map(events.map((event) => [event.id, presentRecordEvent(event)]));
    return rows.map((row) => ({
      ...row,
      target: targets.get(row.automation_id),
      payload: row.event_id === null ? toTickPayload(row) : payloads.get(row.event_id),
    }));
  },
  run: (run, context) => runOnce(deps, run, context),
  recordAll: (db, reports: readonly RunReport[]) => recordReports(db, reports, deps.baseUrl, deps.clock.now()),
  async onDeadLetter(db, { automation_id }) {
    const now = deps.clock.now();
    const report = { automation_id, attempted_at: now, error: platformError, isEnd: true };
    await recordReports(db, [report], deps.baseUrl, now);
  },
});

const platformError =
  'The automation could not run because of an internal error. If the error persists, contact the operator.';

const toTickPayload = ({ tick_at }: RunRow) => ({ scheduled_at: tick_at?.toISOString() ?? null });

async function runOnce(
  deps: RunDeps,
  run: LoadedRun,
  context: { db: Db; now: Date; signal: AbortSignal },
): Promise<Outcome> {
  const { target, payload } = run;
  const { now } = context;
  if (target === undefined || target.is_deleted) return end(run, now);
  if (!target.is_active && !run.is_last) return end(run, now); // turned off after the run was queued
  if (findRequiredPlan(target.plan, 'workflows') !== undefined)
    return fail(run, "The workspace's plan doesn't include automations.", now, { turnsOff: true });
  if (payload === undefined) return fail(run, 'The event was removed.', now);
  const result = await attempt(deps, target, { run_id: run.id, payload, depth: run.depth }, context);
  switch (result.outcome) {
    case 'busy':
      return { runAgainInMs: secondMs };
    case 'skipped':
      return end(run, now);
    case 'done':
      return { ...end(run, now, run.attempts + 1), result: reportOf(run, now, null, true) };
    case 'failed': {
      const retryMs = result.mayHelp ? attemptDelays(run.attempts + 1) : undefined;
      if (retryMs === undefined) return fail(run, result.message, now);
      const error = toErrorMessage(result.message);
      return {
        runAgainInMs: retryMs,
        columns: { attempts: run.attempts + 1, error_message: error, completed_at: null },
        result: reportOf(run, now, error, false),
      };
    }
  }
}

const end = (run: LoadedRun, now: Date, attempts = run.attempts): Outcome => ({
  columns: { attempts, error_message: null, completed_at: now },
});

/** Ends a run that has failed permanently. The queue itself has not failed, so the row is not dead-lettered. */
function fail(run: LoadedRun, message: string, now: Date, more: Pick<RunReport, 'turnsOff'> = {}): Outcome {
  const error = toErrorMessage(message);
  return {
    columns: { attempts: run.attempts + 1, error_message: error, completed_at: now },
    result: { ...reportOf(run, now, error, true), ...more },
  };
}

const reportOf = ({ automation_id }: LoadedRun, now: Date, error: string | null, isEnd: boolean): RunReport => ({
  automation_id,
  attempted_at: now,
  error,
  isEnd,
});

const maxErrorLength = 1_000;
const toErrorMessage = (message: string): string => toStorableText(message.slice(0, maxErrorLength));

/**
 * Records the attempts' results on their automations, in the transaction that completes the attempts. The new values
 * are computed from the locked rows, so users' concurrent changes are not overwritten.
 */
async function recordReports(db: Db, reports: readonly RunReport[], baseUrl: string, now: Date): Promise<void> {
  const byAutomation = Map.groupBy(reports, (report) => report.automation_id);
  const automations = await lockAutomations(db, [...byAutomation.keys()]);
  const updates = automations.map((automation) => ({
    automation,
    health: applyReports(automation, byTime(byAutomation.get(automation.id) ?? [])),
  }));
  await saveHealth(
    db,
    updates.map(({ health }) => health),
  );
  for (const { automation, health } of updates)
    if (health.isTurnedOff) await announceTurnOff(db, automation, health.last_error, baseUrl, now);
}

const byTime = (reports: readonly RunReport[]): RunReport[] =>
  reports.toSorted((a, b) => a.attempted_at.getTime() - b.attempted_at.getTime());

async function announceTurnOff(
  db: Db,
  { workspace_id, app_id, id, name }: AutomationRow,
  error: string | null,
  baseUrl: string,
  now: Date,
): Promise<void> {
  const target = { kind: 'automation', id };
  await auditService(
    db,
    workspace_id,
    { type: 'automation.disabled', target, app_id, after: { is_active: false } },
    now,
  );
  const body = `The automation "${name}" was turned off.\n\n${error ?? ''}\n\n${whatToDo}\n\nAutomation: ${id}\nApp: ${app_id}\nInstallation: ${baseUrl}\n`;
  await warnResponsible(db, { workspace_id, app_id, subject: `The automation "${name}" was turned off`, body }, now);
}

const whatToDo = `An automation is turned off after ${maxFailures} consecutive failed runs, or when the workspace's plan doesn't include automations.

What to do:
1. Fix the cause. The automation's last error is shown above.
2. Turn the automation back on by updating it with {"is_active": true}.

Changes made while the automation is off don't trigger it later.`;

export const automationJobs = ({ wake }: { readonly wake: Pick<WakeUps, 'notify'> }): Job[] => [
  {
    name: 'start scheduled automations',
    everyMs: secondMs,
    dueInMs: tickDueInMs,
    run: (db, now) => startDueRuns(db, wake, now),
  },
  { name: 'remove old automation runs', everyMs: minuteMs, run: removeOldRuns },
];
