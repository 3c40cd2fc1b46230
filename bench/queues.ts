// Measures queue tables against pg-boss, graphile-worker and DBOS Transact: how fast a backlog is processed and with
// how much CPU time, how many transactions that enqueue jobs are committed, and how soon a job starts. The soak shows that
// no row is missed, whatever happens.
import type { Bench } from '../harness/bench.ts';
import { compareSystems, comparisonNames, type Measured } from './queues/compare.ts';
import { measureSoak } from './queues/soak.ts';

const partNames = [...comparisonNames, 'soak'];

export const queues: Bench = async ({ quick, only, progress }) => {
  const names = partNames.filter((name) => only === undefined || name === only);
  if (names.length === 0) throw new Error(`--only is one of ${partNames.join(', ')}`);
  const measured: Measured[] = [];
  const compared = names.filter((name) => name !== 'soak');
  if (compared.length > 0) measured.push(...(await compareSystems(compared, quick, progress)));
  if (names.includes('soak')) {
    const { figures, judged } = await measureSoak(quick, (line) => progress(`soak: ${line}`));
    measured.push({ figures: { soak: figures }, judged });
  }
  return {
    figures: Object.assign({}, ...measured.map(({ figures }) => figures)),
    judged: measured.flatMap(({ judged }) => judged),
    skipped: partNames.filter((name) => !names.includes(name)).map((name) => `the part ${name}`),
  };
};
