// Light or dark: as the system, or as the person chose in this browser.
import { Monitor, Moon, Sun, SunMoon } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { keepPref } from '../data/prefs.ts';
import { Menu, MenuItem } from '../ui/menu.tsx';

export const themes = [
  { value: undefined, label: 'As the system', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const;

type Theme = (typeof themes)[number]['value'];

const listeners = new Set<() => void>();

export function chooseTheme(theme: Theme): void {
  keepPref('theme', theme);
  if (theme === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const readTheme = (): Theme => document.documentElement.dataset.theme as Theme;

export function ThemeMenu({ side = 'top' }: { readonly side?: 'top' | 'bottom' | 'right' }) {
  const chosen = useSyncExternalStore(subscribe, readTheme);
  return (
    <Menu name="Theme" label={<SunMoon size={16} aria-hidden className="text-quiet" />} side={side} align="end">
      {themes.map(({ value, label, icon }) => (
        <MenuItem key={label} icon={icon} isChosen={chosen === value} onSelect={() => chooseTheme(value)}>
          {label}
        </MenuItem>
      ))}
    </Menu>
  );
}
