// A list of places and actions that is searched by typing: a text field whose arrow keys move through the list below.
import type { LucideIcon } from 'lucide-react';
import { type KeyboardEvent, useId, useState } from 'react';
import { classNames } from './class-names.ts';
import { Dialog } from './dialog.tsx';

export interface PaletteItem {
  readonly id: string;
  readonly label: string;
  /** What else it is found by. */
  readonly words?: string;
  /** What kind of thing it is, or where. */
  readonly hint: string;
  readonly icon: LucideIcon;
  run(): void;
}

interface PaletteProps {
  readonly isOpen: boolean;
  readonly query: string;
  readonly items: readonly PaletteItem[];
  /** Stands below the list: what was not searched, or is still being searched. */
  readonly remark?: string | undefined;
  onQuery(query: string): void;
  onClose(): void;
}

export function Palette({ isOpen, query, items, remark, onQuery, onClose }: PaletteProps) {
  const id = useId();
  const [at, setAt] = useState(0);
  const current = Math.min(at, items.length - 1);
  const run = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    onClose();
    item.run();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step === undefined) return run(items[current]);
    const next = (current + step + items.length) % Math.max(items.length, 1);
    setAt(next);
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <Dialog isOpen={isOpen} isAtTop title="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Search for a place, an app or an action"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${current}` : undefined}
        autoComplete="off"
        placeholder="Search"
        autoFocus
        value={query}
        onChange={({ target }) => {
          onQuery(target.value);
          setAt(0);
        }}
        onKeyDown={move}
        className="target w-full rounded-medium border border-field bg-raised px-3 py-2 text-long outline-none focus:border-focus"
      />
      <div id={`${id}-list`} role="listbox" aria-label="Results" tabIndex={-1} className="max-h-list overflow-y-auto">
        {items.map((item, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field
          <div
            key={item.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => run(item)}
            onPointerMove={() => setAt(index)}
            className={classNames(
              'target flex cursor-pointer items-center gap-3 rounded-small px-2',
              index === current && 'bg-hover',
            )}
          >
            <item.icon size={16} aria-hidden className="shrink-0 text-quiet" />
            <span className="min-w-0 grow truncate">{item.label}</span>
            <span className="shrink-0 text-dense text-quiet">{item.hint}</span>
          </div>
        ))}
      </div>
      <p role="status" className="text-dense text-quiet">
        {items.length === 0 ? `Nothing here is called “${query}”.` : remark}
      </p>
    </Dialog>
  );
}
