// Tests executing definitions: lists, expressions, loops, errors, timeouts and waits.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createRunScene, type Tasks } from '../../../../test/support/runs.ts';
import { startWorld } from '../../../../test/support/world.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const app = await world.appOf(owner, workspace);
const scene = createRunScene(world);
const { run } = scene;
await world.startWorker();

const isWaiting = (run: { claimed_slot: number | null; steps_count: number }, steps: number) =>
  run.claimed_slot === null && run.steps_count === steps;
const last = <Item>(items: readonly Item[]): Item => items.at(-1) as Item;

describe('a run', () => {
  it('executes the tasks of a list in order, each with the output of the one before', async () => {
    const ended = await run(
      app,
      [{ first: { set: { n: '${ .n + 1 }' } } }, { second: { set: { n: '${ .n * 10 }', started: '${ $input.n }' } } }],
      { n: 4 },
    );
    expect(ended).toMatchObject({
      status: 'completed',
      status_reason: null,
      steps_count: 2,
      error_message: null,
      state: null,
    });
    expect(ended.steps).toMatchObject([
      {
        number: 1,
        name: 'first',
        task_path: '/do/0/first',
        task_type: 'set',
        status: 'completed',
        input: { n: 4 },
        output: { n: 5 },
      },
      {
        number: 2,
        name: 'second',
        status: 'completed',
        attempt: 1,
        input: { n: 5 },
        output: { n: 50, started: 5 },
        error: null,
      },
    ]);
  });

  it('evaluates if, input.from, output.as and export.as', async () => {
    const ended = await run(
      app,
      [
        { skipped: { if: '${ .x > 1 }', set: { never: true } } },
        {
          taken: {
            if: '${ .x == 1 }',
            input: { from: '${ {y: .x} }' },
            set: { z: '${ .y }' },
            output: { as: '${ {z: (.z + $input.y)} }' },
            export: { as: '${ {total: .z} }' },
          },
        },
        { reads: { set: '${ [$context.total, .z, $workflow.run_id, $task.name] }' } },
      ],
      { x: 1 },
    );
    expect(ended.steps).toMatchObject([
      { status: 'skipped', output: null },
      { input: { y: 1 }, output: { z: 2 } },
      { output: [2, 2, ended.id, 'reads'] },
    ]);
  });

  it('follows then, and the cases of a switch', async () => {
    const tasks: Tasks = [
      { choose: { switch: [{ big: { when: '${ .n > 10 }', then: 'large' } }, { else: { then: 'small' } }] } },
      { large: { set: { size: 'large' }, then: 'end' } },
      { small: { set: { size: 'small' } } },
      { after: { set: '${ . }' } },
    ];
    const [large, small] = [await run(app, tasks, { n: 11 }), await run(app, tasks, { n: 1 })];
    expect(large.steps.map(({ name }) => name)).toEqual(['choose', 'large']);
    expect(small.steps.map(({ name }) => name)).toEqual(['choose', 'small', 'after']);
  });

  it('takes a turn of for for each item, and the inner loop sees the variables of the outer one', async () => {
    const ended = await run(app, [
      { start: { set: '${ [] }' } },
      {
        outer: {
          for: { each: 'a', in: '${ [1, 2] }', at: 'i' },
          do: [
            {
              inner: {
                for: { each: 'b', in: '${ ["x", "y"] }' },
                while: '${ $b != "y" or $i == 0 }',
                do: [{ add: { set: '${ . + [[$a, $b, $i, $index]] }' } }],
              },
            },
          ],
        },
      },
    ]);
    expect(ended.status).toBe('completed');
    expect(last(ended.steps).output).toEqual([
      [1, 'x', 0, 0],
      [1, 'y', 0, 1],
      [2, 'x', 1, 0],
    ]);
  });

  it('fails with the name of the task, its step, and the cause', async () => {
    const ended = await run(app, [
      { ok: { set: {} } },
      { bad: { set: '${ error("no luck") }' } },
      { never: { set: {} } },
    ]);
    expect(ended).toMatchObject({ status: 'failed', failed_step: 2, steps_count: 2, failure: { type: 'expression' } });
    expect(ended.error_message).toMatch(/^Task 'bad' failed: .*no luck/);
    expect(ended.steps).toMatchObject([
      { status: 'completed' },
      { status: 'failed', error: { type: 'expression', status: 400 } },
    ]);
  });

  it('keeps the definition with which it was started', async () => {
    const workflow = await scene.insertWorkflow(app, [
      { wait: { wait: { seconds: 1 } } },
      { old: { set: { is: 'old' } } },
    ]);
    const id = await scene.start(workflow);
    await world.db
      .updateTable('workflows')
      .set({ current_version_id: 'f'.repeat(64) })
      .where('id', '=', workflow.id)
      .execute();
    expect(await scene.waitForEnd(id)).toMatchObject({ status: 'completed' });
    expect(last(await scene.listSteps(id))).toMatchObject({ output: { is: 'old' } });
  });
});

describe('input.from of a task that contains others', () => {
  it('is bounded like every value', async () => {
    const from = '${ "x" * 300000 }';
    const ended = await run(app, [{ outer: { input: { from }, do: [{ inner: { set: {} } }] } }]);
    expect(ended).toMatchObject({ status: 'failed', failed_step: 1, failure: { type: 'runtime', cause: 'too_large' } });
  });
});

describe('a run that holds many small values', () => {
  it('fails, because they need much more memory than their text', async () => {
    const ended = await run(app, [{ many: { set: { n: '${ [range(50000) | 0] }' } } }]);
    expect(ended).toMatchObject({ status: 'failed', failure: { type: 'runtime', cause: 'too_large' } });
    expect(ended.error_message).toContain('50,000 values');
    expect(await run(app, [{ fewer: { set: { n: '${ [range(49900) | 0] }' } } }])).toMatchObject({
      status: 'completed',
    });
  });
});

describe('a loop that does not end', () => {
  it('is stopped after 1,000 steps if a task jumps to itself', async () => {
    const ended = await run(app, [{ again: { set: {}, then: 'again' } }]);
    expect(ended).toMatchObject({ status: 'failed', status_reason: 'step_limit', steps_count: 1_000 });
    expect(ended.error_message).toMatch(/^Task 'again' failed: .*1,000 steps/);
  });

  /** Executes a run that has already made this many transitions. */
  const runLater = async (tasks: Tasks, transitions: number) => {
    const id = await scene.start(await scene.insertWorkflow(app, [{ pause: { wait: { days: 1 } } }, ...tasks]));
    await expect.poll(async () => isWaiting(await scene.getRun(id), 1)).toBe(true);
    world.clock.aheadMs = 25 * 60 * 60 * 1000;
    await sql`update workflow_runs set due_at = clock_timestamp(),
      state = jsonb_set(state::jsonb, '{transitions}', ${transitions}::text::jsonb)::json where id = ${id}`.execute(
      world.db,
    );
    const ended = await scene.waitForEnd(id);
    world.clock.aheadMs = 0;
    return ended;
  };

  it('is stopped after 10,000 tasks if they leave no step', async () => {
    const again = { for: { in: '${ [] }' }, do: [{ never: { set: {} } }], then: 'again' };
    const ended = await runLater([{ again }], 9_950);
    expect(ended).toMatchObject({ status: 'failed', status_reason: 'step_limit', steps_count: 1 });
    expect(ended.error_message).toMatch(/^Task 'again' failed: .*10,000 tasks/);
  });

  it('is stopped if loops contain loops', async () => {
    const items = '${ [range(20)] }';
    const loop = (each: string, inside: object) => ({ for: { each, in: items }, do: [{ inner: inside }] });
    const ended = await runLater(
      [{ outer: loop('x', loop('y', { for: { in: '${ [] }' }, do: [{ never: { set: {} } }] })) }],
      9_900,
    );
    expect(ended).toMatchObject({ status: 'failed', status_reason: 'step_limit', steps_count: 1 });
  });

  it('may take 1,000 turns', async () => {
    const ended = await run(app, [{ many: { for: { in: '${ [range(1000)] }' }, do: [{ x: { set: {} } }] } }]);
    expect(ended).toMatchObject({ status: 'completed', steps_count: 1_000 });
  });

  it('may not take more than 1,000 turns', async () => {
    const ended = await run(app, [{ many: { for: { in: '${ [range(1001)] }' }, do: [{ x: { set: {} } }] } }]);
    expect(ended).toMatchObject({ status: 'failed', status_reason: null });
    expect(ended.error_message).toContain('1,000 items');
  });
});

describe('try', () => {
  const failing = {
    fail: {
      raise: {
        error: {
          type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication',
          status: 503,
          title: 'Down',
          detail: 'it is down',
        },
      },
    },
  };

  it('handles an error that it catches, and names it', async () => {
    const ended = await run(app, [
      { start: { set: { n: 1 } } },
      {
        guarded: {
          try: [failing],
          catch: {
            errors: { with: { type: 'communication', status: 503 } },
            as: 'problem',
            do: [{ handle: { set: '${ {n, problem: $problem} }' } }],
          },
        },
      },
      { after: { set: '${ .problem.title }' } },
    ]);
    expect(ended.status).toBe('completed');
    expect(ended.steps).toMatchObject([
      { name: 'start' },
      {
        name: 'fail',
        status: 'failed',
        error: { type: 'communication', title: 'Down', status: 503, detail: 'it is down' },
      },
      {
        name: 'handle',
        output: { n: 1, problem: { type: 'communication', title: 'Down', status: 503, detail: 'it is down' } },
      },
      { name: 'after', output: 'Down' },
    ]);
  });

  it('handles errors with characters that PostgreSQL cannot store', async () => {
    const text = '${ "a\\u0000b" }';
    const raised = { raise: { error: { type: text, status: 400, title: text, detail: text } } };
    const caught = { do: [{ handle: { set: '${ {problem: $error} }' } }] };
    const ended = await run(app, [{ guarded: { try: [{ fail: raised }], catch: caught } }]);
    const error = { type: 'ab', title: 'ab', status: 400, detail: 'ab' };
    expect(ended).toMatchObject({
      status: 'completed',
      steps: [{ error }, { output: { problem: error } }],
    });
    expect(await run(app, [{ fail: raised }])).toMatchObject({
      error_message: "Task 'fail' failed: ab",
      failure: error,
    });
    expect(await run(app, [{ fail: { set: '${ error("a\\u0000b") }' } }])).toMatchObject({
      error_message: "Task 'fail' failed: The expression in `set` failed: ab",
    });
    const cut = await run(app, [{ fail: { set: '${ error("x" * 198 + "😀" * 9) }' } }]);
    expect(cut.error_message).toMatch(/x\ufffd…$/);
  });

  it('keeps only the beginning of long errors', async () => {
    const long = (length: number) => `\${ "x" * ${length} }`;
    const raised = { raise: { error: { type: long(9_000), status: 400, title: long(90_000), detail: long(200_000) } } };
    const caught = { do: [{ handle: { set: '${ $error | map_values(tostring | length) }' } }] };
    const ended = await run(app, [{ guarded: { try: [{ fail: raised }], catch: caught } }, { fail: raised }]);
    const error = { type: 'x'.repeat(256), title: 'x'.repeat(1_000), detail: 'x'.repeat(2_000), status: 400 };
    const shown = { ...error, type: `${error.type}…`, title: `${error.title}…`, detail: `${error.detail}…` };
    expect(ended.steps[0]?.error).toEqual(shown);
    expect(ended.steps[1]?.output).toEqual({ type: 257, title: 1_001, detail: 2_001, status: 3 });
    expect(ended.failure).toMatchObject(shown);
    expect(ended.error_message).toHaveLength(2_001);
  });

  it('lets other errors pass, also those that when and exceptWhen leave out', async () => {
    for (const only of [
      { errors: { with: { type: 'timeout' } } },
      { errors: { with: { status: 500 } } },
      { when: '${ $error.status == 500 }' },
      { exceptWhen: '${ $error.status == 503 }' },
    ]) {
      const ended = await run(app, [{ guarded: { try: [failing], catch: { ...only, do: [{ never: { set: {} } }] } } }]);
      expect(ended, JSON.stringify(only)).toMatchObject({
        status: 'failed',
        error_message: "Task 'fail' failed: it is down",
      });
    }
  });

  it('retries with growing delays, counts attempts, and fails when they are used up', async () => {
    const startedAt = Date.now();
    const ended = await run(app, [
      {
        guarded: {
          try: [failing],
          catch: {
            retry: { delay: { milliseconds: 100 }, backoff: { exponential: {} }, limit: { attempt: { count: 3 } } },
          },
        },
      },
    ]);
    expect(Date.now() - startedAt).toBeGreaterThan(700); // 100 + 200 + 400
    expect(ended).toMatchObject({ status: 'failed', failed_step: 4 });
    expect(ended.steps.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });

  it('waits for a longer delay without occupying a worker', async () => {
    const workflow = await scene.insertWorkflow(app, [
      { guarded: { try: [failing], catch: { retry: { delay: { hours: 1 }, limit: { attempt: { count: 1 } } } } } },
    ]);
    const id = await scene.start(workflow);
    await expect.poll(async () => isWaiting(await scene.getRun(id), 1)).toBe(true);
    const { due_at } = await scene.getRun(id);
    expect((due_at as Date).getTime()).toBeGreaterThan(Date.now() + 59 * 60 * 1000);
    world.clock.aheadMs = 61 * 60 * 1000;
    await sql`update workflow_runs set due_at = clock_timestamp() where id = ${id}`.execute(world.db);
    const ended = await scene.waitForEnd(id);
    world.clock.aheadMs = 0;
    expect(ended).toMatchObject({ status: 'failed', steps_count: 2 });
  });
});

describe('timeout', () => {
  it('ends a wait in a list, and the task around it fails', async () => {
    const ended = await run(app, [
      {
        guarded: {
          try: [{ slow: { timeout: { after: { milliseconds: 300 } }, do: [{ pause: { wait: { days: 1 } } }] } }],
          catch: { errors: { with: { type: 'timeout' } }, do: [{ handled: { set: { in: 'time' } } }] },
        },
      },
    ]);
    expect(ended.status).toBe('completed');
    expect(ended.steps).toMatchObject([
      { name: 'pause', status: 'failed', error: { type: 'timeout' } },
      { name: 'handled', output: { in: 'time' } },
    ]);
  });
});

describe('a wait', () => {
  it('shows its step as running, and continues when its time has come', async () => {
    const id = await scene.start(
      await scene.insertWorkflow(app, [{ pause: { wait: { days: 20 } } }, { after: { set: '${ . }' } }]),
      { kept: 1 },
    );
    await expect
      .poll(async () => (await scene.getRun(id)).claimed_slot === null && (await scene.listSteps(id))[0]?.status)
      .toBe('running');
    world.clock.aheadMs = 20 * 24 * 60 * 60 * 1000 + 1_000;
    await sql`update workflow_runs set due_at = clock_timestamp() where id = ${id}`.execute(world.db);
    const ended = await scene.waitForEnd(id);
    world.clock.aheadMs = 0;
    expect(ended).toMatchObject({ status: 'completed', steps_count: 2 });
    expect(await scene.listSteps(id)).toMatchObject([{ status: 'completed' }, { output: { kept: 1 } }]);
  });

  it('ends with the run after 30 days', async () => {
    const workflow = await scene.insertWorkflow(app, [{ a: { wait: { days: 20 } } }, { b: { wait: { days: 20 } } }]);
    const id = await scene.start(workflow);
    for (const days of [20, 30]) {
      await expect.poll(async () => isWaiting(await scene.getRun(id), days / 10 - 1)).toBe(true);
      world.clock.aheadMs = days * 24 * 60 * 60 * 1000 + 1_000;
      await sql`update workflow_runs set due_at = clock_timestamp() where id = ${id}`.execute(world.db);
    }
    const ended = await scene.waitForEnd(id);
    world.clock.aheadMs = 0;
    expect(ended).toMatchObject({ status: 'failed', status_reason: 'timeout' });
    expect(last(await scene.listSteps(id))).toMatchObject({ name: 'b', status: 'cancelled' });
  });
});
