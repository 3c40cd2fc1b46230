// Tests that a cancellation is noticed even if the database was briefly unavailable.
import { describe, expect, it } from 'vitest';
import type { Execution } from '../execution.ts';
import { whileShown } from './slow-call.ts';

describe('a call', () => {
  it('is abandoned if its run is cancelled, also after a query has failed', async () => {
    let queries = 0;
    const db = {
      executeQuery: async () => {
        queries += 1;
        if (queries <= 2) throw new Error('the database is unavailable');
        return { rows: [{ status: 'cancelling' }] };
      },
    };
    const wake = { listen: () => () => {}, notify: () => {}, pollMs: () => 10 };
    const execution = { db, run: { id: 'r' }, deps: { wake }, signal: new AbortController().signal, notifiedAt: 0 };
    const waitForAbort = (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    expect(await whileShown(execution as unknown as Execution, {} as never, waitForAbort, 10)).toBe('cancelled');
    expect(queries).toBe(3);
  });
});
