// Follows an event stream into a state, drawn at most once per frame. The SDK resumes lost connections by itself.
import { useEffect, useRef, useState } from 'react';
import { type Args, type EventOf, isPlinthError, type Name, type PlinthError, send, useCaller } from './client.ts';

export interface Followed<State> {
  readonly state: State;
  /** Why the stream ended, if it can't be continued. */
  readonly error: PlinthError | undefined;
  /** Whether events arrive: false until the first one, and while the tab is hidden. */
  readonly isFollowing: boolean;
  again(): void;
}

const waitMs = 1_000;

/** A hidden tab has no stream, because a browser allows only six connections per server. */
export function useStream<N extends Name, State>(
  name: N,
  args: Args<N>,
  {
    initial,
    reduce,
    onEvent,
  }: {
    readonly initial: State;
    readonly reduce: (state: State, event: EventOf<N>) => State;
    readonly onEvent?: (event: EventOf<N>) => void;
  },
): Followed<State> {
  const caller = useCaller();
  const [state, setState] = useState(initial);
  const [error, setError] = useState<PlinthError>();
  const [isFollowing, setFollowing] = useState(false);
  const [round, setRound] = useState(0);
  const latest = useRef({ caller, reduce, onEvent, initial });
  latest.current = { caller, reduce, onEvent, initial };
  const isVisible = useVisible();
  const key = JSON.stringify(args);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for another stream; the rest is in `key` and `latest`.
  useEffect(() => {
    if (!isVisible) return;
    const ending = new AbortController();
    let next = latest.current.initial;
    let frame = 0;
    const draw = () => {
      frame = 0;
      setState(next);
    };
    const follow = async () => {
      for (;;) {
        next = latest.current.initial;
        for await (const event of send(latest.current.caller, name, JSON.parse(key) as Args<N>, {
          signal: ending.signal,
        }).stream()) {
          setFollowing(true);
          next = latest.current.reduce(next, event);
          latest.current.onEvent?.(event);
          frame ||= requestAnimationFrame(draw);
        }
        // The server ends a stream after half an hour, or when it restarts.
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    };
    setError(undefined);
    follow().catch((reason: unknown) => {
      if (ending.signal.aborted) return;
      setFollowing(false);
      if (isPlinthError(reason)) setError(reason);
      else throw reason;
    });
    return () => {
      ending.abort();
      cancelAnimationFrame(frame);
      setFollowing(false);
    };
  }, [caller.workspaceId, name, key, isVisible, round]);

  return { state, error, isFollowing, again: () => setRound((count) => count + 1) };
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const read = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', read);
    return () => document.removeEventListener('visibilitychange', read);
  }, []);
  return isVisible;
}
