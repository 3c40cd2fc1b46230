// The frame around the screens of a workspace: a sidebar on a desk, a bar at the bottom on a phone.
import { Link, useNavigate } from '@tanstack/react-router';
import { ChevronsUpDown, KeyRound, LogOut, type LucideIcon, Search, Trash2, UserRound } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { WorkspaceContext } from '../data/client.ts';
import { keepPref } from '../data/prefs.ts';
import { useOperation } from '../data/use-operation.ts';
import { ToneIcon, toneClass } from '../ui/badge.tsx';
import { classNames } from '../ui/class-names.ts';
import { Menu, MenuItem, MenuLine } from '../ui/menu.tsx';
import { Boundary, Empty } from '../ui/panel.tsx';
import { useMe } from './gate.tsx';
import { GoTo } from './go-to.tsx';
import { Keys, type Place } from './keys.tsx';
import { usePlace } from './place.ts';
import { places } from './places.ts';
import { useSignOut } from './sign-out.ts';
import { ThemeMenu } from './theme.tsx';

export function Frame({ ws, children }: { readonly ws: string; readonly children: ReactNode }) {
  const { workspaces } = useMe();
  const place = usePlace();
  const workspace = workspaces.find(({ id }) => id === ws);
  if (workspace !== undefined) keepPref('workspace', ws);
  const navigate = useNavigate();
  const [isGoingTo, setGoingTo] = useState(false);
  const keys = places.map(
    ({ to, label, letter }): Place => ({ letter, label, run: () => void navigate({ to, params: { ws } }) }),
  );
  return (
    <WorkspaceContext value={ws}>
      <div className="flex h-full flex-col middle:flex-row">
        <nav
          aria-label="Workspace"
          className="hidden w-sidebar shrink-0 flex-col gap-4 border-r border-line bg-sunken p-3 middle:flex"
        >
          <WorkspaceMenu ws={ws} />
          <button
            type="button"
            onClick={() => setGoingTo(true)}
            className="target flex items-center gap-3 rounded-medium border border-line bg-raised px-3 text-quiet shadow-card transition-colors hover:bg-hover"
          >
            <Search size={16} aria-hidden />
            <span className="grow text-left">Go to…</span>
            <kbd className="font-sans text-caption">Ctrl K</kbd>
          </button>
          <div className="flex grow flex-col gap-1">
            {places.map((place) => (
              <PlaceLink key={place.to} ws={ws} {...place} />
            ))}
          </div>
          <Health />
          <div className="flex items-center justify-between gap-1 border-t border-line pt-3">
            <PersonMenu ws={ws} />
            <ThemeMenu />
          </div>
        </nav>
        <main className="min-h-0 min-w-0 grow overflow-y-auto">
          {workspace === undefined ? (
            <div className="mx-auto max-w-page p-6">
              <Empty>
                <h1 className="font-semibold text-text">You are not a member of this workspace.</h1>
                <p>Ask one of its admins to invite you, or choose another workspace.</p>
                <WorkspaceMenu ws={ws} />
              </Empty>
            </div>
          ) : (
            <Boundary key={place}>{children}</Boundary>
          )}
        </main>
        <GoTo ws={ws} isOpen={isGoingTo} onOpen={setGoingTo} />
        <Keys places={keys} />
        <nav aria-label="Pages" className="flex shrink-0 border-t border-line bg-card middle:hidden">
          {places.slice(0, 2).map((place) => (
            <PlaceLink key={place.to} ws={ws} isBelow {...place} />
          ))}
          <button
            type="button"
            onClick={() => setGoingTo(true)}
            className="flex h-bar grow basis-0 items-center justify-center"
          >
            <Short icon={Search} label="Go to" />
          </button>
          <div className="flex grow basis-0 items-center justify-center">
            <PersonMenu ws={ws} isShort />
          </div>
        </nav>
      </div>
    </WorkspaceContext>
  );
}

interface PlaceLinkProps {
  readonly ws: string;
  readonly to: (typeof places)[number]['to'];
  readonly label: string;
  readonly icon: LucideIcon;
  readonly isExact: boolean;
  readonly isBelow?: boolean;
}

function PlaceLink({ ws, to, label, icon: Icon, isExact, isBelow = false }: PlaceLinkProps) {
  return (
    <Link
      to={to}
      params={{ ws }}
      activeOptions={{ exact: isExact }}
      activeProps={{ className: isBelow ? 'text-link' : 'bg-card text-text shadow-card' }}
      inactiveProps={{ className: 'text-quiet hover:bg-hover' }}
      className={classNames(
        'flex items-center font-medium transition-colors',
        isBelow ? 'h-bar grow basis-0 flex-col justify-center gap-1 text-caption' : 'target gap-3 rounded-medium px-3',
      )}
    >
      <Icon size={16} aria-hidden />
      {label}
    </Link>
  );
}

function WorkspaceMenu({ ws }: { readonly ws: string }) {
  const { workspaces } = useMe();
  const navigate = useNavigate();
  const current = workspaces.find(({ id }) => id === ws);
  const label = (
    <>
      <span
        aria-hidden
        className="flex size-6 shrink-0 items-center justify-center rounded-small bg-accent text-caption font-semibold text-on-accent"
      >
        {current?.name.slice(0, 1).toUpperCase() ?? '?'}
      </span>
      <span className="max-w-picture min-w-0 grow truncate text-left font-semibold">
        {current?.name ?? 'Workspaces'}
      </span>
      <ChevronsUpDown size={16} aria-hidden className="text-quiet" />
    </>
  );
  return (
    <Menu label={label}>
      {workspaces.map(({ id, name }) => (
        <MenuItem key={id} isChosen={id === ws} onSelect={() => void navigate({ to: '/w/$ws', params: { ws: id } })}>
          {name}
        </MenuItem>
      ))}
      {workspaces.length < 2 && (
        <>
          <MenuLine />
          <p className="max-w-form px-2 py-1 text-dense text-quiet">
            {current === undefined ? 'You are a member of no workspace.' : `You are its ${current.role}.`} Other
            workspaces appear here once their admins have invited you.
          </p>
        </>
      )}
    </Menu>
  );
}

/** On a phone it is the only menu, so it also has what else is in the sidebar. */
function PersonMenu({ ws, isShort = false }: { readonly ws: string; readonly isShort?: boolean }) {
  const { user, workspaces } = useMe();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const label = isShort ? (
    <Short icon={UserRound} label="You" />
  ) : (
    <>
      <UserRound size={16} aria-hidden className="text-quiet" />
      <span className="max-w-picture truncate">{user.full_name || user.email}</span>
    </>
  );
  return (
    <Menu label={label} side="top">
      <p className="truncate px-2 py-1 text-dense text-quiet">{user.email}</p>
      <MenuLine />
      {isShort && (
        <MenuItem icon={Trash2} onSelect={() => void navigate({ to: '/w/$ws/trash', params: { ws } })}>
          Trash
        </MenuItem>
      )}
      {isShort &&
        workspaces.length > 1 &&
        workspaces.map(({ id, name }) => (
          <MenuItem
            key={id}
            icon={ChevronsUpDown}
            isChosen={id === ws}
            onSelect={() => void navigate({ to: '/w/$ws', params: { ws: id } })}
          >
            {name}
          </MenuItem>
        ))}
      <MenuItem icon={KeyRound} onSelect={() => void navigate({ to: '/account/$part', params: { part: 'profile' } })}>
        Account
      </MenuItem>
      <MenuItem icon={LogOut} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

const Short = ({ icon: Icon, label }: { readonly icon: LucideIcon; readonly label: string }) => (
  <span className="flex flex-col items-center gap-1 text-caption font-medium text-quiet">
    <Icon size={16} aria-hidden />
    {label}
  </span>
);

/** Says when the installation can't do its work. Nothing is drawn while all is well. */
function Health() {
  const { data, error } = useOperation('ready', {}, { every: 15_000 });
  const sentence =
    error !== null
      ? "The server can't be reached."
      : data?.checks.workers === 'none_seen'
        ? 'No worker is running. Work waits until an operator starts one.'
        : data?.checks.redis === 'unreachable'
          ? 'Redis can’t be reached. Everything works, but limits are counted per process.'
          : undefined;
  if (sentence === undefined) return null;
  return (
    <p role="status" className={classNames('flex gap-2 rounded-medium p-2 text-dense', toneClass('wait'))}>
      <ToneIcon tone="wait" />
      {sentence}
    </p>
  );
}
