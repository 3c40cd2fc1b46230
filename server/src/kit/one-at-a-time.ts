// Owns work that runs one at a time in this process, because it would otherwise occupy every core.

export type OneAtATime = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Work runs in the order of its arrival. If `maxWaiting` wait already, it is refused with what `refuse` returns. */
export function oneAtATime(maxWaiting: number, refuse: () => Error): OneAtATime {
  let previous: Promise<unknown> = Promise.resolve();
  let unfinished = 0;
  return async (work) => {
    if (unfinished > maxWaiting) throw refuse();
    unfinished += 1;
    const running = previous.then(work);
    previous = running.catch(() => {});
    try {
      return await running;
    } finally {
      unfinished -= 1;
    }
  };
}
