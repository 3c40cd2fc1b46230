// What Ctrl + K opens: the pages of the workspace, its apps, and what can be done on this screen.
import { useNavigate } from '@tanstack/react-router';
import { LogOut, PanelsTopLeft, UserRound } from 'lucide-react';
import { useEffect, useState } from 'react';
import { WorkspaceContext } from '../data/client.ts';
import { useOperation } from '../data/use-operation.ts';
import { Palette, type PaletteItem } from '../ui/palette.tsx';
import { places } from './places.ts';
import { useSignOut } from './sign-out.ts';
import { chooseTheme, themes } from './theme.tsx';

interface GoToProps {
  readonly ws: string;
  /** The places of this screen. They come first. */
  readonly items?: readonly PaletteItem[];
  /** What can be done on this screen. All places come before it. */
  readonly actions?: readonly PaletteItem[];
  readonly isOpen: boolean;
  onOpen(isOpen: boolean): void;
}

/** The server is asked once nothing was typed for this long. */
const pauseMs = 300;

/** On a screen outside a workspace. */
export function GoToFromAnywhere({ ws }: { readonly ws: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <WorkspaceContext value={ws}>
      <GoTo ws={ws} isOpen={isOpen} onOpen={setOpen} />
    </WorkspaceContext>
  );
}

export function GoTo({ ws, items = [], actions = [], isOpen, onOpen }: GoToProps) {
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [query, setQuery] = useState('');
  const search = usePaused(query.trim());
  const apps = useOperation(
    'listApps',
    { app_type: 'user_app,imported_app', sort: '-updated_date', limit: 8, ...(search && { search }) },
    { when: isOpen },
  );
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onOpen(true);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [onOpen]);
  const close = () => {
    onOpen(false);
    setQuery('');
  };
  const pages: readonly PaletteItem[] = [
    ...places.map(({ to, label, icon }) => ({
      id: to,
      label,
      hint: 'page',
      icon,
      run: () => void navigate({ to, params: { ws } }),
    })),
    {
      id: 'account',
      label: 'Account',
      words: 'credits password tokens',
      hint: 'page',
      icon: UserRound,
      run: () => void navigate({ to: '/account/$part', params: { part: 'profile' } }),
    },
  ];
  const allActions: readonly PaletteItem[] = [
    ...actions,
    ...themes.map(({ value, label, icon }) => ({
      id: `theme ${label}`,
      label: `Theme: ${label.toLowerCase()}`,
      hint: 'action',
      icon,
      run: () => chooseTheme(value),
    })),
    { id: 'sign out', label: 'Sign out', hint: 'action', icon: LogOut, run: () => void signOut() },
  ];
  const found = (apps.data?.items ?? []).map(
    ({ id, name }): PaletteItem => ({
      id,
      label: name,
      hint: 'app',
      icon: PanelsTopLeft,
      run: () => void navigate({ to: '/editor/$app/preview', params: { app: id } }),
    }),
  );
  const isNamed = ({ label, words = '' }: PaletteItem) =>
    `${label} ${words}`.toLowerCase().includes(query.trim().toLowerCase());
  return (
    <Palette
      isOpen={isOpen}
      query={query}
      items={[...items, ...pages, ...found, ...allActions].filter(isNamed)}
      remark={apps.error ? "Apps could not be searched: the server can't be reached." : undefined}
      onQuery={setQuery}
      onClose={close}
    />
  );
}

/** The text, once it has stayed the same for a moment. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
