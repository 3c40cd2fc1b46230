// Judges the drill. Each check returns a description of everything it found wrong. A bar is met if nothing is wrong.
import type { Judged } from '../../harness/bench.ts';
import { countExpectedRuns, type Evidence, isCancelled } from './evidence.ts';
import type { StartLine } from './people.ts';
import type { Run, Step } from './reading.ts';
import type { CallLine } from './receiver.ts';
import type { Expected, ExpectedStep } from './scenario.ts';

export function judge(evidence: Evidence): { judged: Judged[]; figures: Record<string, unknown> } {
  const faults = {
    ends: findWrongEnds(evidence),
    steps: findWrongSteps(evidence),
    counts: findWrongCounts(evidence),
    records: findWrongRecords(evidence),
    answers: findWrongCalls(evidence),
    keys: findWrongKeys(evidence),
    repeats: findRepeatsAfterCompletion(evidence),
    contradictions: findContradictions(evidence),
    early: findEarlyTimers(evidence),
    charges: findWrongCharges(evidence),
  };
  const isNone = (...names: (keyof typeof faults)[]) => names.every((name) => faults[name].length === 0);
  const repeatedCalls = evidence.calls.length - new Set(evidence.calls.map(({ key }) => key)).size;
  return {
    figures: {
      starts: evidence.journal.starts.length,
      runs: [...evidence.runs.values()].reduce((sum, runs) => sum + runs.length, 0),
      steps: [...evidence.runs.values()].flat().reduce((sum, { steps }) => sum + steps.length, 0),
      ends: countEnds(evidence),
      calls: evidence.calls.length,
      calls_repeated_for_a_crash: repeatedCalls,
      steps_seen_while_running: evidence.sightings.length,
      fault_counts: Object.fromEntries(Object.entries(faults).map(([name, list]) => [name, list.length])),
      faults: Object.fromEntries(Object.entries(faults).map(([name, list]) => [name, list.slice(0, 5)])),
    },
    judged: [
      { bar: 'every acknowledged start ended in its right state', met: isNone('ends') },
      { bar: 'each start is one run, and nothing else ran', met: isNone('counts') },
      { bar: 'each run has exactly the steps that its definition and the receiver imply', met: isNone('steps') },
      { bar: 'each record was written exactly once', met: isNone('records') },
      { bar: 'each call was made as often as the definition says', met: isNone('answers') },
      { bar: 'a call that a crash repeated has the same key and body', met: isNone('keys') },
      { bar: 'no call came again after its step was completed', met: isNone('repeats') },
      { bar: 'what was seen as completed stayed so', met: evidence.sightings.length > 0 && isNone('contradictions') },
      { bar: 'no wait ended early', met: isNone('early') },
      { bar: 'each run was charged once', met: isNone('charges') },
    ],
  };
}

function countEnds({ runs }: Evidence): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of [...runs.values()].flat()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const listStarted = ({ journal: { starts } }: Evidence): (StartLine & { run_id: string })[] =>
  starts.flatMap((line) => (line.run_id === undefined ? [] : [{ ...line, run_id: line.run_id }]));

const indexRuns = ({ runs }: Evidence): Map<string, Run> =>
  new Map([...runs.values()].flat().map((run) => [run.run_id, run]));

/** Checks the status and message of runs whose ids are known. All other runs must be completed. */
function findWrongEnds(evidence: Evidence): string[] {
  const runs = indexRuns(evidence);
  const started = listStarted(evidence);
  const known = new Set(started.map(({ run_id }) => run_id));
  const wrong = started.flatMap((line) => {
    const run = runs.get(line.run_id);
    const { status, error_message = '' } = line.plan.expected as Expected;
    if (run === undefined) return [`${line.plan.token}: there is no run ${line.run_id}`];
    if (isCancelled(line) && line.cancelled !== 'cancelling' && line.cancelled !== 'cancelled')
      return [`${line.plan.token}: cancelRun answered ${line.cancelled}`];
    const isRight = run.status === status && (run.error_message ?? '').startsWith(error_message);
    return isRight ? [] : [`${line.plan.token}: ${run.status} (${run.status_reason}), ${run.error_message}`];
  });
  const others = [...runs.values()].filter(({ run_id, status }) => !known.has(run_id) && status !== 'completed');
  return [...wrong, ...others.map((run) => `${run.workflow_name} ${run.run_id}: ${run.status}, ${run.error_message}`)];
}

const describeStep = ({ name, status, attempt }: ExpectedStep | Step): string => `${name} ${status} ${attempt}`;

function findWrongSteps(evidence: Evidence): string[] {
  const runs = indexRuns(evidence);
  return listStarted(evidence).flatMap((line) => {
    const { run_id, plan } = line;
    const run = runs.get(run_id);
    if (run === undefined) return [];
    const expected = (plan.expected as Expected).steps.map(describeStep);
    const steps = run.steps.map(describeStep);
    const isNumbered = run.steps.every(({ number }, n) => number === n + 1) && run.steps_count === run.steps.length;
    const isRight = isCancelled(line) ? isCutOff(run.steps, expected) : steps.join() === expected.join();
    return isRight && isNumbered ? [] : [`${plan.token}: ${steps.join(', ')}; not ${expected.join(', ')}`];
  });
}

/** Whether a cancelled run's steps are a prefix of the expected steps. The step in progress may have been cancelled. */
function isCutOff(steps: readonly Step[], expected: readonly string[]): boolean {
  const last = steps.at(-1);
  return steps.every((step, n) => {
    const isLast = step === last && step.status === 'cancelled';
    return describeStep(isLast ? { ...step, status: 'completed' } : step) === expected[n];
  });
}

/** Lists ticks that may have been due before they were acknowledged. */
const listDoubtful = ({ ticks }: Evidence['journal']): Set<string> =>
  new Set(ticks.filter(({ counts }) => !counts).map(({ token }) => token));

function findWrongCounts({ apps, journal, runs }: Evidence): string[] {
  return apps.flatMap((app) => {
    const expected = countExpectedRuns(app, journal);
    const found = new Map<string, number>();
    for (const { workflow_name } of runs.get(app) ?? []) found.set(workflow_name, (found.get(workflow_name) ?? 0) + 1);
    const doubtful = listDoubtful(journal);
    const names = new Set([...expected.keys(), ...found.keys()].filter((name) => !doubtful.has(name)));
    return [...names].flatMap((name) =>
      expected.get(name) === found.get(name)
        ? []
        : [`${name}: ${found.get(name) ?? 0} runs instead of ${expected.get(name) ?? 0}`],
    );
  });
}

function findWrongRecords({ apps, journal, records }: Evidence): string[] {
  return apps.flatMap((app) => {
    const expected = new Map<string, string[]>([['Tick', []]]);
    const add = (entity: string, keys: readonly string[]) =>
      expected.set(entity, [...(expected.get(entity) ?? []), ...keys]);
    for (const line of journal.starts)
      if (line.app === app)
        for (const [entity, keys] of Object.entries(line.plan.expected?.records ?? {})) add(entity, keys);
    for (const tick of journal.ticks) if (tick.app === app && tick.counts) add('Tick', [tick.token]);
    const doubtful = listDoubtful(journal);
    return [...expected].flatMap(([entity, keys]) =>
      compare(
        entity,
        keys,
        (records.get(app)?.get(entity) ?? []).filter((key) => !doubtful.has(key)),
      ),
    );
  });
}

function compare(entity: string, expected: readonly string[], found: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const key of found) counts.set(key, (counts.get(key) ?? 0) + 1);
  const wanted = new Set(expected);
  return [
    ...expected.filter((key) => counts.get(key) !== 1).map((key) => `${entity} ${key}: ${counts.get(key) ?? 0} times`),
    ...[...counts.keys()].filter((key) => !wanted.has(key)).map((key) => `${entity} ${key}: never written by anybody`),
  ];
}

/** The responses to each call's keys, in order, must match the plan. */
function findWrongCalls({ calls, journal }: Evidence): string[] {
  const byCall = Map.groupBy(calls, ({ token, call }) => `${token}/${call}`);
  const wrong: string[] = [];
  for (const line of journal.starts) {
    for (const { call, answers } of line.plan.expected?.calls ?? []) {
      const name = `${line.plan.token}/${call}`;
      const got = Map.groupBy(byCall.get(name) ?? [], ({ nth }) => nth);
      const found = [...got.keys()].sort((a, b) => a - b).map((nth) => got.get(nth)?.[0]?.answer);
      const isRight = found.join() === answers.join() || (isCancelled(line) && found.length === 0);
      if (!isRight) wrong.push(`${name}: under ${found.length} keys (${found.join()}) instead of ${answers.join()}`);
      byCall.delete(name);
    }
  }
  return [...wrong, ...[...byCall.keys()].map((name) => `${name}: should never have been called`)];
}

/** A key names the run and the step that made the call, and must always come with the same call and body. */
function findWrongKeys(evidence: Evidence): string[] {
  const runs = indexRuns(evidence);
  return [...Map.groupBy(evidence.calls, ({ key }) => key)].flatMap(([key, lines]) => {
    const [runId = '', number] = key.split('.');
    const step = runs.get(runId)?.steps.find((each) => each.number === Number(number));
    const isSame = new Set(lines.map(({ token, call, sha256 }) => `${token} ${call} ${sha256}`)).size === 1;
    const [line] = lines as [CallLine];
    if (!isSame) return [`${key}: came with different calls or bodies`];
    return step === undefined ? [`${key}: ${line.token}/${line.call} has no step`] : [];
  });
}

/**
 * A run's next step begins only after the previous one has been recorded, so a run's calls never go backwards. A call
 * must not arrive after an observer has seen its step as completed.
 */
function findRepeatsAfterCompletion({ calls, sightings }: Evidence): string[] {
  const seenAt = new Map(sightings.map(({ run_id, number, seen_at }) => [`${run_id}.${number}`, seen_at]));
  const latest = new Map<string, number>();
  return calls.flatMap(({ key, at }) => {
    const [runId = '', number] = key.split('.');
    const before = latest.get(runId) ?? 0;
    latest.set(runId, Math.max(before, Number(number)));
    if (Number(number) < before) return [`${key}: came after a call of step ${before}`];
    const seen = seenAt.get(key);
    return seen !== undefined && at > seen ? [`${key}: came ${at - seen} ms after it was seen as completed`] : [];
  });
}

function findContradictions(evidence: Evidence): string[] {
  const runs = indexRuns(evidence);
  return evidence.sightings.flatMap(({ run_id, number, name, completed_at }) => {
    const step = runs.get(run_id)?.steps.find((each) => each.number === number);
    const isSame = step?.name === name && step.status === 'completed' && step.completed_at === completed_at;
    return isSame ? [] : [`${run_id}.${number}: ${name} was completed at ${completed_at}, now ${JSON.stringify(step)}`];
  });
}

function findEarlyTimers({ calls, journal }: Evidence): string[] {
  const byCall = Map.groupBy(calls, ({ token, call }) => `${token}/${call}`);
  return journal.starts.flatMap(({ plan }) => {
    const { wait } = plan.expected ?? {};
    if (wait === undefined) return [];
    const from = byCall.get(`${plan.token}/${wait.from}`)?.at(-1);
    const to = byCall.get(`${plan.token}/${wait.to}`)?.[0];
    if (from === undefined || to === undefined) return [];
    const tookMs = to.at - from.answered_at;
    return tookMs < wait.ms ? [`${plan.token}: continued after ${tookMs} of ${wait.ms} ms`] : [];
  });
}

const creditsPerRun = 0.05;

/** A run that was cancelled before a worker began it costs nothing. */
function findWrongCharges({ apps, runs, credits }: Evidence): string[] {
  return credits.flatMap(({ used, reserved }, workspace) => {
    const all = apps.filter((app) => app.workspace === workspace).flatMap((app) => runs.get(app) ?? []);
    const begun = all.filter(({ status, steps_count }) => status !== 'cancelled' || steps_count > 0);
    const charged = Math.round(used / creditsPerRun);
    const isExact = Math.abs(used - charged * creditsPerRun) < 1e-6 && reserved === 0;
    const isRight = isExact && charged >= begun.length && charged <= all.length;
    return isRight
      ? []
      : [`workspace ${workspace}: ${used} for ${begun.length} to ${all.length} runs, ${reserved} reserved`];
  });
}
