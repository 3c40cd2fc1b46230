// Keys of one letter: `g` and a letter go to a place, `/` to the search field, `?` shows the list. They can be switched
// off, because speech input types letters by mistake.
import { useEffect, useRef, useState } from 'react';
import { keepPref, readPref } from '../data/prefs.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';

export interface Place {
  /** The letter after `g`. */
  readonly letter: string;
  readonly label: string;
  run(): void;
}

/** How long the letter after `g` is waited for. */
const pairMs = 1_500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [role="dialog"], [role="menu"]') !== null;

export function Keys({ places }: { readonly places: readonly Place[] }) {
  const [isOpen, setOpen] = useState(false);
  const [areOff, setOff] = useState(() => readPref('keys') === 'off');
  const wasG = useRef(0);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (areOff || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isPair = Date.now() - wasG.current < pairMs;
      wasG.current = 0;
      const place = places.find(({ letter }) => letter === event.key);
      if (isPair && place) place.run();
      else if (event.key === 'g') wasG.current = Date.now();
      else if (event.key === '?') setOpen(true);
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('main input[type="search"]');
        if (field === null) return;
        event.preventDefault();
        field.focus();
      }
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [areOff, places]);
  const change = () => {
    keepPref('keys', areOff ? undefined : 'off');
    setOff(!areOff);
  };
  const lines = [
    ['Ctrl + K', 'Go to a place, an app or an action'],
    ['Enter', 'Send the message'],
    ['Shift + Enter', 'Begin a new line'],
    ['Ctrl + .', 'Stop the assistant'],
    ['Ctrl + S', 'Save the file'],
    ['/', 'Search on this page'],
    ...places.map(({ letter, label }) => [`g ${letter}`, label]),
    ['?', 'This list'],
  ] as const;
  return (
    <Dialog isOpen={isOpen} title="Keys" onClose={() => setOpen(false)}>
      <dl className="grid grid-cols-keys gap-x-6 gap-y-2">
        {lines.map(([keys, meaning]) => (
          <div key={keys} className="col-span-2 grid grid-cols-subgrid">
            <dt className="font-mono text-dense">{keys}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div>
        <Button onClick={change}>{areOff ? 'Switch keys of one letter on' : 'Switch keys of one letter off'}</Button>
      </div>
    </Dialog>
  );
}
