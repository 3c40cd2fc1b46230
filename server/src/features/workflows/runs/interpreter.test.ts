// Tests a run whose state is too large to store when its claim ends.
import { describe, expect, it } from 'vitest';
import { define } from '../../../../test/support/runs.ts';
import { parseStored } from '../definition/parse.ts';
import type { Execution } from './execution.ts';
import { interpret } from './interpreter.ts';
import { push, startState } from './state.ts';

describe('the end of a slice', () => {
  it('fails the current task if the state is too large to be stored', async () => {
    const definition = parseStored(
      define([{ guarded: { try: [{ a: { set: {} } }], catch: { do: [{ b: { set: {} } }] } } }]),
    );
    const path = definition.tasks[0]?.path ?? '';
    const frame = { path, list: 'try', index: 0, input: 'small', startedAt: 0, attempt: 1 } as const;
    const stored: string[] = [];
    const db = {
      executeQuery: async ({ sql }: { sql: string }) => {
        stored.push(sql);
        return { rows: [{ status: 'running' }] };
      },
    };
    const execution = {
      db,
      definition,
      run: { id: 'r', started_at: new Date() },
      deps: { clock: { now: () => new Date() }, wake: { notify: () => {} } },
      mask: (value: unknown) => value,
      signal: new AbortController().signal,
      sliceEndsAt: 0,
      secrets: {},
      recordStep: async (_: unknown, { step }: { step: { status: string } }) => {
        stored.push(step.status);
        return 'running';
      },
      reservationId: null,
      state: push(startState({}, new Date()), frame, 'x'.repeat(1024 * 1024)),
    } as unknown as Execution;
    expect(await interpret(execution)).toEqual({ until: expect.any(Number) });
    expect(execution.state).toMatchObject({ steps: 1, data: 'small' });
    expect(execution.state.frames.at(-1)).toMatchObject({ list: 'catch', error: { type: 'runtime' } });
    expect(stored).toEqual(['failed', expect.stringContaining('update workflow_runs set state')]);
  });
});
