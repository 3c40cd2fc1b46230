// Tests floors against a model of a database: transactions that change rows and commit in any order, and a process that
// looks and claims in between.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someOf } from '../../../../test/support/cases.ts';
import { createFloors, type Floors, type Look, type OwnerFloor, type Position, type Visit } from './floors.ts';

interface Version {
  readonly owner: string;
  /** Null: completed. */
  readonly dueMs: number | null;
  readonly claimedBy: string | null;
  readonly isQuarantined: boolean;
  readonly xid: number;
}

/** Rows with their committed versions, and open transactions with theirs. */
function createModel() {
  const committed = new Map<string, Version>();
  const open = new Map<number, Map<string, Version>>();
  let nextXid = 100;
  const isWaiting = ({ dueMs, claimedBy }: Version) => dueMs !== null && claimedBy === null;
  const earliest = (versions: readonly Version[]): OwnerFloor[] => {
    const byOwner = Map.groupBy(versions.filter(isWaiting), ({ owner }) => owner);
    return [...byOwner].map(([owner, rows]) => [owner, Math.min(...rows.map(({ dueMs }) => dueMs as number))]);
  };
  return {
    committed,
    open,
    begin() {
      const xid = nextXid;
      nextXid += 1;
      open.set(xid, new Map());
      return xid;
    },
    commit(xid: number) {
      for (const [id, version] of open.get(xid) ?? []) committed.set(id, version);
      open.delete(xid);
    },
    isLocked: (id: string) => [...open.values()].some((changes) => changes.has(id)),
    position: (): Position => ({ xmax: String(nextXid), xip: [...open.keys()].map(String) }),
    look(since: Position | undefined, toCheck: readonly string[], apart: readonly string[]): Look {
      const changed = [...committed].filter(([, { xid }]) => {
        return since !== undefined && (xid >= Number(since.xmax) || since.xip.includes(String(xid)));
      });
      const elsewhere = changed.filter(([, { claimedBy }]) => claimedBy === 'other');
      return {
        position: this.position(),
        waiting: earliest(changed.map(([, version]) => version)),
        elsewhere: elsewhere.map(([id, { owner }]) => ({ id, owner, key: '' })),
        still: toCheck.filter((id) => committed.get(id)?.claimedBy === 'other'),
        apart: apart.filter((id) => {
          return isWaiting(committed.get(id) as Version) && !changed.some(([other]) => other === id);
        }),
      };
    },
    listFloors: () => earliest([...committed.values()]),
    listWaiting: () => [...committed].filter(([, version]) => isWaiting(version)),
    visit(visited: readonly OwnerFloor[]) {
      return visited.map(([owner, from]): Visit => {
        const rows = this.listWaiting()
          .map(([id, row]) => ({ ...row, id, dueMs: row.dueMs ?? 0 }))
          .filter((row) => row.owner === owner && row.dueMs >= from);
        const floorMs = earliest(rows.filter(({ isQuarantined }) => !isQuarantined))[0]?.[1] ?? null;
        const passed = rows.filter((row) => row.isQuarantined && row.dueMs < (floorMs ?? Number.POSITIVE_INFINITY));
        return { owner, floorMs, passed };
      });
    },
    listElsewhere: () => [...committed].filter(([, { claimedBy }]) => claimedBy === 'other').map(([id]) => id),
  };
}

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('begin' as const) }),
    fc.record({ kind: fc.constant('commit' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('rollback' as const), which: fc.nat() }),
    fc.record({
      kind: fc.constant('change' as const),
      which: fc.nat(),
      row: fc.nat(20),
      to: fc.constantFrom('waiting', 'claimed', 'done'),
      dueMs: fc.integer({ min: 0, max: 50 }),
      isQuarantined: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('claim' as const),
      nowMs: fc.integer({ min: 0, max: 60 }),
      max: fc.integer({ min: 1, max: 4 }),
    }),
  ),
  { minLength: 50, maxLength: 150 },
);

const listApart = (floors: Floors) => floors.listApart().map(({ id }) => id);

/** Runs the steps, and calls `check` after each claim. */
function play(script: readonly Step[], check: (floors: Floors, model: ReturnType<typeof createModel>) => void) {
  const model = createModel();
  const floors = createFloors();
  floors.learnAll(model.listFloors(), model.look(undefined, [], []));
  for (const step of script) {
    const xids = [...model.open.keys()];
    const xid = 'which' in step ? xids[step.which % xids.length] : undefined;
    if (step.kind === 'begin') model.begin();
    if (step.kind === 'commit' && xid !== undefined) model.commit(xid);
    if (step.kind === 'rollback' && xid !== undefined) model.open.delete(xid);
    if (step.kind === 'change') {
      const xid = xids[step.which % (xids.length + 1)] ?? model.begin();
      const id = String(step.row);
      const isFree = !model.isLocked(id) || model.open.get(xid)?.has(id);
      const dueMs = step.to === 'done' ? null : step.dueMs;
      const claimedBy = step.to === 'claimed' ? 'other' : null;
      const { isQuarantined } = step;
      if (isFree)
        model.open.get(xid)?.set(id, { owner: `owner ${step.row % 5}`, dueMs, claimedBy, isQuarantined, xid });
    }
    if (step.kind === 'claim') {
      const visited = floors.choose(step.nowMs, step.max);
      expect(visited.length).toBeLessThanOrEqual(step.max);
      const look = model.look(floors.position, floors.listToCheck(), listApart(floors));
      floors.learn(model.visit(visited), look);
      check(floors, model);
    }
  }
  return { floors, model };
}

type Step = typeof steps extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

describe('floors', () => {
  it('cover every row that waits, after every claim, whatever commits late or is rolled back', () => {
    fc.assert(
      fc.property(steps, (script) => {
        play(script, (floors, model) => {
          const apart = new Map(floors.listApart().map(({ id, dueMs }) => [id, dueMs]));
          for (const [id, { owner, dueMs }] of model.listWaiting()) {
            const floorMs = floors.getFloorMs(owner) ?? Number.POSITIVE_INFINITY;
            // A row that is set apart with another due time would be claimed too late, or for nothing each second.
            if (apart.get(id) !== dueMs) expect(floorMs).toBeLessThanOrEqual(dueMs ?? 0);
          }
          for (const [id, dueMs] of apart) expect([id, model.committed.get(id)?.dueMs]).toEqual([id, dueMs]);
        });
      }),
      { numRuns: someOf(1_200) },
    );
  });

  it('know every row that is claimed elsewhere, after every claim', () => {
    fc.assert(
      fc.property(steps, (script) => {
        play(script, (floors, model) => {
          expect(floors.listElsewhere().map(({ id }) => id)).toEqual(expect.arrayContaining(model.listElsewhere()));
        });
      }),
      { numRuns: someOf(800) },
    );
  });

  it('a full look finds nothing that was missed, and a row that was hidden from looks is counted', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const { floors, model } = play(script, () => {});
        const hidden = { dueMs: 1, claimedBy: null, isQuarantined: false, xid: 1 };
        const look = () => model.look(floors.position, [], listApart(floors));
        expect(floors.learnAll(model.listFloors(), look())).toBe(0);
        model.committed.set('hidden', { ...hidden, owner: 'hidden' });
        expect(floors.learnAll(model.listFloors(), look())).toBe(1);
        expect(floors.learnAll(model.listFloors(), look())).toBe(0);
      }),
      { numRuns: someOf(800) },
    );
  });

  const empty: Look = { position: { xmax: '100', xip: [] }, waiting: [], elsewhere: [], still: [], apart: [] };

  it('an owner that is always among those that waited longest does not keep any other from being visited', () => {
    const floors = createFloors();
    floors.learnAll(
      Array.from({ length: 100 }, (_, n) => [`owner ${n}`, n] as const),
      empty,
    );
    const chosen = new Set<string>();
    for (let claim = 0; claim < 20; claim += 1) {
      const visited = floors.choose(1_000, 10);
      for (const [owner] of visited) chosen.add(owner);
      floors.learn(
        visited.map(([owner, floorMs]) => ({ owner, floorMs })),
        empty,
      ); // all are at their limits, so no floor rises
    }
    expect(chosen.size).toBe(100);
  });

  it('new owners do not go before those that wait in turn', () => {
    const floors = createFloors();
    const list = (kind: string, count: number, floorMs: number) =>
      Array.from({ length: count }, (_, n) => [`${kind} ${n}`, floorMs] as const);
    floors.learnAll([...list('stuck', 250, 0), ...list('other', 1_000, 1)], empty);
    const visits = new Map<string, number>();
    for (let claim = 0; claim < 40; claim += 1) {
      const visited = floors.choose(1_000, 500);
      for (const [owner] of visited) visits.set(owner, (visits.get(owner) ?? 0) + 1);
      const after = visited.map(([owner, floorMs]) => ({ owner, floorMs: owner.startsWith('new') ? null : floorMs }));
      floors.learn(after, { ...empty, waiting: list(`new in ${claim}`, 250, 2) });
    }
    expect(Math.min(...list('other', 1_000, 1).map(([owner]) => visits.get(owner) ?? 0))).toBeGreaterThanOrEqual(3);
  });

  it('rows elsewhere are forgotten as fast as they come', () => {
    const floors = createFloors();
    floors.learnAll([], empty);
    let most = 0;
    for (let look = 0; look < 100; look += 1) {
      const elsewhere = Array.from({ length: 1_000 }, (_, n) => ({ id: `${look} ${n}`, owner: 'A', key: '' }));
      floors.learn([], { ...empty, elsewhere }); // `still` is empty: those checked have all ended
      most = Math.max(most, floors.listElsewhere().length);
    }
    expect(most).toBeLessThanOrEqual(4_000);
  });

  it('a quarantined row is set apart, holds no floor, and is forgotten when it no longer waits', () => {
    const floors = createFloors();
    floors.learnAll([['A', 1]], empty);
    floors.learn([{ owner: 'A', floorMs: 900, passed: [{ id: 'q', dueMs: 1 }] }], empty);
    expect([floors.getFloorMs('A'), listApart(floors), floors.findNextMs()]).toEqual([900, ['q'], 1]);
    floors.learn([{ owner: 'A', floorMs: null }], { ...empty, apart: ['q'] });
    expect([floors.getFloorMs('A'), listApart(floors), floors.findNextMs()]).toEqual([undefined, ['q'], 1]);
    expect(floors.learnAll([['A', 1]], { ...empty, apart: ['q'] })).toBe(0);
    floors.learn([{ owner: 'A', floorMs: null }], empty);
    expect([listApart(floors), floors.findNextMs()]).toEqual([[], undefined]);
  });

  it('beyond a thousand rows that are set apart, floors stay at quarantined rows', () => {
    const floors = createFloors();
    floors.learnAll([['A', 0]], empty);
    const passed = Array.from({ length: 1_002 }, (_, n) => ({ id: `${n}`, dueMs: n }));
    floors.learn([{ owner: 'A', floorMs: 5_000, passed }], empty);
    expect([listApart(floors).length, floors.getFloorMs('A')]).toEqual([1_000, 1_000]);
  });

  it('the example in floors.ts', () => {
    const floors = createFloors();
    const visitA = (floorMs: number | null, passed: Visit['passed'] = []) => [{ owner: 'A', floorMs, passed }];
    floors.learnAll([['A', 900]], { ...empty, position: { xmax: '100', xip: ['97'] } });
    floors.learn(visitA(905), { ...empty, waiting: [['B', 800]], position: { xmax: '102', xip: ['97'] } });
    expect([floors.getFloorMs('A'), floors.getFloorMs('B'), floors.findNextMs()]).toEqual([905, 800, 800]);
    floors.learn(visitA(905), { ...empty, waiting: [['A', 830]] }); // the visit did not read from 830 on
    expect(floors.getFloorMs('A')).toBe(830);
    floors.learn(visitA(905), empty);
    expect(floors.getFloorMs('A')).toBe(905);
    floors.learn(visitA(910, [{ id: 'quarantined', dueMs: 905 }]), empty);
    expect([floors.getFloorMs('A'), listApart(floors)]).toEqual([910, ['quarantined']]);
    floors.learn(visitA(null), empty);
    expect([floors.getFloorMs('A'), floors.findNextMs()]).toEqual([undefined, 800]);
    floors.forget();
    expect([floors.position, floors.findNextMs()]).toEqual([undefined, undefined]);
  });
});
