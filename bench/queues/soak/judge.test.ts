// Tests the judgement of the soak: each fault that it looks for is found.
import { expect, it } from 'vitest';
import type { Run } from './journal.ts';
import { judgeRuns, type SoakRecord } from './judge.ts';

const run = (id: string, startedAt: number, more: Partial<Run> = {}): Run => ({
  id,
  claims: 1,
  owner: `owner of ${id}`,
  key: `key of ${id}`,
  dueAt: 0,
  startedAt,
  endedAt: startedAt + 100,
  hasEnded: true,
  crashes: 0,
  process: 0,
  ...more,
});

/** A record of rows that were opened and completed once, except for what is given. */
const judge = (runs: readonly Run[], more: Partial<SoakRecord> = {}) => {
  const ids = [...new Set(runs.map(({ id }) => id))];
  return judgeRuns({
    runs,
    expected: new Map(ids.map((id) => [id, 1])),
    completions: ids.map((id) => ({ id, claims: 1, again: false })),
    commits: new Map(),
    interrupted: new Map(),
    faults: [],
    ...more,
  });
};

it('finds nothing wrong with rows that ran once, soon', () => {
  expect(judge([run('a', 100), run('b', 1_900)])).toEqual({
    wrongly_completed: [],
    overlapping: [],
    repeated: [],
    most_of_owner: 1,
    most_of_key: 1,
    late: [],
  });
});

it('finds rows that were completed too often or never', () => {
  const twice = [1, 2].map((claims) => ({ id: 'a', claims, again: false }));
  const waits = { id: 'b', claims: 1, again: true };
  const expected = new Map(['a', 'b', 'c', 'cancelled'].map((id) => [id, id === 'cancelled' ? 0 : 1]));
  expect(judge([], { expected, completions: [...twice, waits] }).wrongly_completed).toEqual(['a', 'b', 'c']);
});

it('finds a row that two workers run at the same time', () => {
  expect(judge([run('a', 100), run('a', 150, { claims: 2, process: 1 })]).overlapping).toEqual(['a']);
  expect(judge([run('a', 100), run('a', 200, { claims: 2, process: 1 })]).overlapping).toEqual([]);
});

it('finds repeated runs, and says whether the worker was interrupted', () => {
  const runs = [run('a', 100), run('a', 300, { claims: 2, process: 1 })];
  expect(judge(runs).repeated).toEqual([{ id: 'a', repeats: 1, is_explained: false }]);
  const interrupted = new Map([[1, 5_000]]); // long after the run has ended
  expect(judge(runs, { interrupted }).repeated).toEqual([{ id: 'a', repeats: 1, is_explained: false }]);
  const soon = new Map([[1, 350]]);
  expect(judge(runs, { interrupted: soon }).repeated).toEqual([{ id: 'a', repeats: 1, is_explained: true }]);
});

it('counts the runs of an owner and of a key at once', () => {
  const runs = [100, 150, 200].map((at, n) => run(`${n}`, at, { owner: 'o', key: 'k' }));
  expect(judge(runs)).toMatchObject({ most_of_owner: 2, most_of_key: 2 });
});

it('finds a late start, unless a limit, a fault or the commit held the row', () => {
  const late = run('a', 5_000, { owner: 'o' });
  expect(judge([late]).late).toEqual([{ id: 'a', late_ms: 5_000 }]);
  const full = [1, 2, 3, 4].map((n) => run(`${n}`, 1_000, { owner: 'o', endedAt: 4_000 }));
  expect(judge([late, ...full]).late).toEqual([]);
  expect(judge([late, ...full.slice(1)]).late).toEqual([{ id: 'a', late_ms: 5_000 }]);
  expect(judge([late], { faults: [{ from: 1_500, to: 3_500 }] }).late).toEqual([]);
  expect(judge([late], { faults: [{ from: 500, to: 900 }] }).late).toEqual([{ id: 'a', late_ms: 4_100 }]);
  expect(judge([late], { commits: new Map([['a', [{ from: 4_900, to: 5_050 }]]]) }).late).toEqual([]);
});
