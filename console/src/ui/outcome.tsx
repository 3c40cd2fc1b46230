// Says how a change ended, in a line at the edge of the page that leaves by itself unless something went wrong. While a
// dialog is open, the lines are in it.
import { X } from 'lucide-react';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { createPortal } from 'react-dom';
import type { Name } from '../data/client.ts';
import type { Ending } from '../data/use-change.ts';
import { type Tone, ToneIcon, toneClass } from './badge.tsx';
import { classNames } from './class-names.ts';
import { explain } from './problem.tsx';

interface Line {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
  /** What was not done. The line leaves once it is. */
  readonly refused?: string | undefined;
  readonly action?: Action | undefined;
}

interface Action {
  readonly label: string;
  run(): void;
}

/** The last of these stay in view. */
const maxLines = 4;
const staysMs = 6_000;

let lines: readonly Line[] = [];
/** The places in the dialogs that are open, the topmost one last. */
let places: readonly HTMLElement[] = [];
let count = 0;
const listeners = new Set<() => void>();

function showLines(next: readonly Line[]): void {
  lines = next;
  for (const listener of listeners) listener();
}

function changePlaces(next: readonly HTMLElement[]): void {
  places = next;
  for (const listener of listeners) listener();
}

/** Example: `sayOutcome(ended, 'Revision 9 is live.', 'The app was not published.')`. */
export function sayOutcome<N extends Name>(ending: Ending<N>, done: string, refused: string, action?: Action): void {
  if ('data' in ending && refused !== '') showLines(lines.filter((line) => line.refused !== refused));
  if (ending.kind === 'unknown') say('unknown', explain(ending.error), { refused });
  if (ending.kind === 'refused') say('bad', `${refused} ${explain(ending.error)}`, { refused });
  if (ending.kind === 'done') say('good', done, { action });
  if (ending.kind === 'nothing changed') say('neutral', 'Nothing changed: it was like this already.');
  if ('notes' in ending && ending.notes.ignored.length > 0)
    say('wait', `Sent, but without effect: ${ending.notes.ignored.join(', ')}.`);
}

export function say(tone: Tone, text: string, more: Pick<Line, 'refused' | 'action'> = {}): void {
  count += 1;
  const line = { id: count, tone, text, ...more };
  showLines([...lines.filter((other) => other.text !== text), line].slice(-maxLines));
  if (tone !== 'bad' && tone !== 'unknown') setTimeout(() => close(line.id), staysMs);
}

const close = (id: number): void => showLines(lines.filter((line) => line.id !== id));

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** In a dialog: at the edge of a phone, lines would cover its buttons, and nothing beside a dialog is read aloud. */
export function OutcomesInDialog() {
  const [place, setPlace] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (place === null) return;
    changePlaces([...places, place]);
    return () => changePlaces(places.filter((other) => other !== place));
  }, [place]);
  return <div ref={setPlace} aria-live="polite" className="flex shrink-0 flex-col gap-2 empty:sr-only" />;
}

export function Outcomes({ children }: { readonly children: ReactNode }) {
  const shown = useSyncExternalStore(subscribe, () => lines);
  const place = useSyncExternalStore(subscribe, () => places.at(-1));
  const drawn = shown.map((line) => <LineView key={line.id} line={line} />);
  return (
    <>
      {children}
      <section
        aria-label="Messages"
        aria-live="polite"
        className="pointer-events-none fixed inset-x-0 bottom-16 z-60 mx-auto flex w-full max-w-dialog flex-col gap-2 px-4 middle:bottom-6"
      >
        {place === undefined ? drawn : createPortal(drawn, place)}
      </section>
    </>
  );
}

function LineView({ line: { id, tone, text, action } }: { readonly line: Line }) {
  return (
    <div
      role={tone === 'bad' || tone === 'unknown' ? 'alert' : undefined}
      className={classNames(
        'pointer-events-auto flex items-start gap-3 rounded-medium border border-line p-3 shadow-raised',
        toneClass(tone),
      )}
    >
      <ToneIcon tone={tone} />
      <p className="min-w-0 grow font-medium break-words">{text}</p>
      {action && (
        <button
          type="button"
          className="target -my-1 shrink-0 underline"
          onClick={() => {
            close(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <button
        type="button"
        aria-label="Close"
        onClick={() => close(id)}
        className="target -my-1 inline-flex min-w-target items-center justify-center"
      >
        <X size={16} aria-hidden />
      </button>
    </div>
  );
}
