// Reads a list to its end, page by page, for somebody who waits for all of it and may stop waiting.
import { useEffect, useRef, useState } from 'react';
import { type Args, type Data, isPlinthError, type PlinthError, send, useCaller } from './client.ts';
import { type Item, listItems, type PagedName } from './use-operation.ts';

export interface AllPages<N extends PagedName> {
  /** How many items were read so far. Undefined while nothing is read. */
  readonly progress: number | undefined;
  readonly error: PlinthError | undefined;
  /** Calls `take` with each page. Returns whether the end was reached. */
  read(args: Args<N>, take: (items: readonly Item<N>[]) => void): Promise<boolean>;
  cancel(): void;
}

export function useAllPages<N extends PagedName>(name: N): AllPages<N> {
  const caller = useCaller();
  const [progress, setProgress] = useState<number>();
  const [error, setError] = useState<PlinthError>();
  const leaving = useRef<AbortController>(undefined);
  const cancel = () => leaving.current?.abort();
  useEffect(() => () => leaving.current?.abort(), []);
  const read = async (args: Args<N>, take: (items: readonly Item<N>[]) => void): Promise<boolean> => {
    const stopped = new AbortController();
    leaving.current = stopped;
    const { signal } = stopped;
    setError(undefined);
    let count = 0;
    try {
      for (let cursor: string | null = ''; cursor !== null; ) {
        setProgress(count);
        const sent: Args<N> = { ...args, limit: 1_000, ...(cursor !== '' && { cursor }) };
        const page: Data<N> = (await send(caller, name, sent, { signal }).answer()).data;
        const items = listItems<N>(page);
        take(items);
        count += items.length;
        cursor = (page as { next_cursor: string | null }).next_cursor;
      }
      return true;
    } catch (reason) {
      if (signal.aborted) return false;
      if (!isPlinthError(reason)) throw reason;
      setError(reason);
      return false;
    } finally {
      setProgress(undefined);
    }
  };
  return { progress, error, read, cancel };
}
