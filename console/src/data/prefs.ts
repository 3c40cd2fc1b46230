// What the browser keeps for a person: the theme, the last workspace, whether keys of one letter are off, and texts that were not sent.
import { useState } from 'react';

interface Prefs {
  readonly theme: 'light' | 'dark';
  readonly workspace: string;
  readonly keys: 'off';
  /** The page on which a link for a new password was asked for. The page that the link opens leads back to it. */
  readonly wayBack: string;
  readonly [draft: `draft.${string}`]: string;
}

/** Returns undefined if nothing is kept, or the browser keeps nothing for this page. */
export function readPref<K extends keyof Prefs>(name: K): Prefs[K] | undefined {
  try {
    const text = localStorage.getItem(`plinth.${name}`);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function keepPref<K extends keyof Prefs>(name: K, value: Prefs[K] | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`plinth.${name}`);
    else localStorage.setItem(`plinth.${name}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing loses the choice with the page.
  }
}

/** A typed text that survives a reload until it is sent. */
export function useDraft(name: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(() => readPref(`draft.${name}`) ?? '');
  return [
    text,
    (next) => {
      setText(next);
      keepPref(`draft.${name}`, next === '' ? undefined : next);
    },
  ];
}
