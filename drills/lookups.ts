// Drill: 500 callers in 50 workspaces read their own apps while statements fail, connections break and callers
// disconnect. Their lookups run in shared statements (server/src/kit/db/lookups.ts). Every response must belong to its
// caller, and every change of rights must take effect with the very next request. Judged by the callers' own data and
// by the statements in PostgreSQL's log. Two builds with planted faults, in which results reach a different caller,
// must fail the drill.
import type { Bench } from '../harness/bench.ts';
import { callAll, type Outcome } from './lookups/callers.ts';
import { startEnvironment } from './lookups/environment.ts';
import { causeFaults } from './lookups/faults.ts';
import { plantedBuilds, plantFault } from './lookups/planted.ts';
import { checkRights } from './lookups/rights.ts';
import { readStatements, summariseStatements } from './lookups/statements.ts';

const minTogether = 4;

export const lookups: Bench = async ({ quick, progress }) => {
  const requests = quick ? 10_000 : 100_000;
  const honest = await run(undefined, requests, quick ? 20 : 200, progress);
  progress(`the product: ${JSON.stringify(honest.outcome)}`);
  const planted: Record<string, Outcome> = {};
  for (const name of Object.keys(plantedBuilds)) {
    const build = plantFault(name);
    planted[name] = (await run(build.checkout, quick ? 2_000 : 10_000, 0, progress)).outcome;
    build.remove();
    progress(`planted, ${name}: ${JSON.stringify(planted[name])}`);
  }
  const { outcome, rights, statements } = honest;
  const together = statements.answersFrom(minTogether);
  const togetherBar = requests / 2;
  return {
    figures: {
      requests,
      ...outcome,
      rights_changes: rights.changes,
      statements_by_lookups: statements.bySize,
      answers_from_statements_of_4_and_2_workspaces: together,
      planted,
    },
    judged: [
      { bar: 'every answer is that of its caller', met: outcome.wrong === 0 && outcome.answered > 0 },
      { bar: 'no request fails because a statement or a connection did', met: outcome.failed === 0 },
      { bar: 'every change of rights is seen by the very next request', met: rights.missed.length === 0 },
      {
        bar: `>= ${togetherBar} answers from statements of >= ${minTogether} lookups of >= 2 workspaces`,
        met: together >= togetherBar,
      },
      {
        bar: 'statements failed, connections broke and callers went away',
        met: outcome.statements_failed > 0 && outcome.connections_closed > 0 && outcome.gone > 0,
      },
      { bar: 'each planted build fails', met: Object.values(planted).every(({ wrong }) => wrong > 0) },
    ],
    skipped: [],
  };
};

/** Runs the drill on the product, or on another build of its API. */
async function run(
  checkout: string | undefined,
  requests: number,
  rightsChanges: number,
  progress: (line: string) => void,
) {
  const environment = await startEnvironment(checkout);
  try {
    const faults = causeFaults(environment);
    const [called, rights] = await Promise.all([
      callAll(environment, requests, progress),
      checkRights(environment, rightsChanges),
    ]);
    const caused = await faults.stop();
    const outcome: Outcome = { ...called, ...caused };
    return {
      outcome,
      rights,
      statements: summariseStatements(readStatements(environment.logFile), environment.callers),
    };
  } finally {
    await environment.close();
  }
}
