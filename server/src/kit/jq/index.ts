// Jq, the expression language: filters are checked and evaluated in threads, with limits on time and memory
// (docs/api/workflows.md#expressions). No JavaScript is evaluated, and filters can't access anything but their data.
import { type CompileResult, checkFilters } from './check.ts';
import { type JqData, type JqError, maxBytes, readOutcome, tooLarge, writeCall } from './evaluate.ts';
import { followPaths } from './paths.ts';
import { createPool, type PoolLimits } from './pool.ts';
import { type FilterToCheck, readCompileErrors, writeCompilation } from './program.ts';

export interface Jq {
  /**
   * Returns the reason why the filter can't be used with these variables (`must …`), or undefined if it can. May throw
   * `JqBusy`.
   */
  check(filter: string, variables: readonly string[], owner?: string): Promise<string | undefined>;
  /** Like `check`, but checks many filters in few calls. */
  checkAll(filters: readonly FilterToCheck[], owner?: string): Promise<(string | undefined)[]>;
  /** Returns each filter's first output, or null if it has none. Throws the signal's reason if the signal aborts. */
  evaluate(
    filters: readonly string[],
    data: JqData,
    signal?: AbortSignal,
  ): Promise<{ readonly values: unknown[] } | JqError>;
  close(): Promise<void>;
}

/** Thrown when too many filters are waiting for jq. The caller can try again. */
export class JqBusy extends Error {}

const defaultLimits: PoolLimits = {
  threads: 2,
  maxCpuMs: 250,
  maxElapsedMs: 5_000,
  maxOutputBytes: maxBytes,
  maxWaiting: 2_000,
  maxWaitingOfOwner: 100,
  maxWaitMs: 10_000,
  maxIdleMs: 60_000,
};

/** Call this once per process. Threads start when they are first needed. */
export function openJq(limits: Partial<PoolLimits> = {}): Jq {
  const pool = createPool({ ...defaultLimits, ...limits });

  async function compile(filters: readonly FilterToCheck[], owner: string): Promise<CompileResult> {
    const compilation = writeCompilation(filters);
    const outcome = await pool.run(owner, { program: compilation.program, input: 'null' });
    if ('failure' in outcome && outcome.failure === 'busy') throw new JqBusy();
    if (!('exitCode' in outcome)) return 'too_complex';
    const errors = readCompileErrors(outcome.stderr, compilation);
    // jq reports no location if its parser runs out of memory.
    return outcome.exitCode !== 0 && errors.size === 0 ? 'too_complex' : errors;
  }
  const checkAll: Jq['checkAll'] = (filters, owner = '') => checkFilters(filters, (some) => compile(some, owner));

  return {
    checkAll,
    async check(filter, variables, owner) {
      const [problem] = await checkAll([{ filter, variables }], owner);
      return problem;
    },
    async evaluate(filters, data, signal) {
      if (filters.length === 0) return { values: [] };
      const call = writeCall(filters, data);
      if (call === undefined) return tooLarge;
      signal?.throwIfAborted();
      const values = followPaths(filters, call.input);
      if (values !== undefined) return { values };
      const outcome = await pool.run(data.owner ?? '', call, signal);
      signal?.throwIfAborted();
      return readOutcome(outcome, data.secrets ?? []);
    },
    close: () => pool.close(),
  };
}
