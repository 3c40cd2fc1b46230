// Draws a read in each of its states, so no screen can forget one: loading, empty, partial, old, failed.
import { Component, type ReactNode, useEffect, useState } from 'react';
import { lastRequests } from '../data/client.ts';
import type { Read } from '../data/use-operation.ts';
import { Age } from './age.tsx';
import { toneClass } from './badge.tsx';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { Problem } from './problem.tsx';

interface PanelProps<Shown> {
  readonly read: Read<Shown>;
  /** One sentence why there is nothing, and what changes that. */
  readonly empty?: ReactNode;
  readonly isEmpty?: (shown: Shown) => boolean;
  /** The number of grey lines while nothing is known. */
  readonly lines?: number;
  readonly children: (shown: Shown) => ReactNode;
}

const hasNoItems = (shown: unknown): boolean => Array.isArray(shown) && shown.length === 0;

export function Panel<Shown>({ read, empty, isEmpty = hasNoItems, lines = 3, children }: PanelProps<Shown>) {
  const { data, notes, error, readAt, every, again } = read;
  const isOld = data !== undefined && (error !== null || (every !== undefined && Date.now() - readAt > 2 * every));
  return (
    <Boundary>
      {error && (
        <Problem error={error} onAgain={again} {...(data !== undefined && { title: 'What you see is older' })} />
      )}
      {data === undefined && !error && <Loading lines={lines} onAgain={again} />}
      {notes !== undefined && notes.partial.length > 0 && (
        <Remark>Not everything could be read. Missing: {notes.partial.join(', ')}.</Remark>
      )}
      {notes?.truncated && <Remark>The list is cut here. There is more than is shown.</Remark>}
      {notes?.warnings.includes('no_worker_seen') && (
        <Remark>No worker is running. This waits until an operator starts one.</Remark>
      )}
      {data !== undefined && (
        <div className={classNames('flex min-h-0 min-w-0 grow flex-col', isOld && 'text-quiet')}>
          {isOld && <Age readAt={readAt} />}
          {empty !== undefined && isEmpty(data) ? <Empty>{empty}</Empty> : <Drawn draw={() => children(data)} />}
        </div>
      )}
    </Boundary>
  );
}

/** Calls `draw` below the boundary, which can't catch what its own parent throws. */
const Drawn = ({ draw }: { draw(): ReactNode }) => draw();

export const Remark = ({ children }: { readonly children: ReactNode }) => (
  <div className={classNames('rounded-medium p-3', toneClass('wait'))}>{children}</div>
);

export const Empty = ({ children }: { readonly children: ReactNode }) => (
  <div className="flex flex-col items-center gap-3 rounded-large border border-dashed border-line p-8 text-center text-quiet">
    {children}
  </div>
);

/** Nothing at first, because most answers come at once; then grey lines; after five seconds a sentence. */
export function Loading({ lines = 3, onAgain }: { readonly lines?: number; readonly onAgain?: () => void }) {
  const [stage, setStage] = useState<'nothing' | 'lines' | 'late'>('nothing');
  useEffect(() => {
    const timers = [setTimeout(() => setStage('lines'), 150), setTimeout(() => setStage('late'), 5_000)];
    return () => timers.forEach(clearTimeout);
  }, []);
  if (stage === 'nothing') return <div aria-busy className="min-h-target" />;
  return (
    <div aria-busy className="flex flex-col gap-3">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <div key={line} className="h-6 animate-breathe rounded-small bg-neutral" />
      ))}
      {stage === 'late' && (
        <p role="status" className="flex items-center gap-2 text-quiet">
          Still waiting for the server.
          {onAgain && <Button onClick={onAgain}>Ask again</Button>}
        </p>
      )}
      <span className="sr-only">Loading</span>
    </div>
  );
}

interface BoundaryState {
  readonly failure: Error | undefined;
}

/** A failure in one part of a page leaves the rest as it is. */
export class Boundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { failure: undefined };

  static getDerivedStateFromError(failure: Error): BoundaryState {
    return { failure };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return (
      <div role="alert" className={classNames('flex flex-col gap-2 rounded-medium p-4', toneClass('bad'))}>
        <strong>This part of the page failed.</strong>
        <pre tabIndex={0} className="overflow-x-auto text-caption">
          {[failure.message, ...lastRequests].join('\n')}
        </pre>
        <div>
          <Button onClick={() => this.setState({ failure: undefined })}>Show it again</Button>
        </div>
      </div>
    );
  }
}
