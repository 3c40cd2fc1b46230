// The editor of an app: the chat on the left of every tab, or one of both on a phone.
import { Link, useLocation, useMatchRoute, useNavigate } from '@tanstack/react-router';
import {
  Database,
  FileCode2,
  History,
  House,
  type LucideIcon,
  MessageSquare,
  MonitorSmartphone,
  PanelsTopLeft,
  Rocket,
  Search,
  Settings2,
  UserPlus,
  Users,
} from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { AppContext, type App as AppData } from '../data/app-context.ts';
import { WorkspaceContext } from '../data/client.ts';
import { useOperation } from '../data/use-operation.ts';
import { AppState } from '../features/apps/app-card.tsx';
import { Chat } from '../features/builder/chat.tsx';
import { PublishButton } from '../features/publishing/publish.tsx';
import { buttonClass, IconButton, iconLinkClass } from '../ui/button.tsx';
import { classNames } from '../ui/class-names.ts';
import { Boundary, Empty, Panel } from '../ui/panel.tsx';
import { useLastWorkspace, useMe } from './gate.tsx';
import { GoTo } from './go-to.tsx';
import { Keys } from './keys.tsx';
import { usePlace } from './place.ts';
import { ThemeMenu } from './theme.tsx';

const tabs = [
  { to: '/editor/$app/preview', label: 'Preview', letter: 'p', icon: MonitorSmartphone },
  { to: '/editor/$app/revisions', label: 'Revisions', letter: 'r', icon: History },
  { to: '/editor/$app/files', label: 'Files', letter: 'f', icon: FileCode2 },
  { to: '/editor/$app/data', label: 'Data', letter: 'd', icon: Database },
  { to: '/editor/$app/users', label: 'Users', letter: 'u', icon: Users },
  { to: '/editor/$app/settings', label: 'Settings', letter: 's', icon: Settings2 },
] as const;

export function Editor({ app_id, children }: { readonly app_id: string; readonly children: ReactNode }) {
  const read = useOperation('getApp', { app_id }, { every: 30_000 });
  if (read.data === undefined)
    return (
      <main className="mx-auto flex w-full max-w-form flex-col gap-4 p-6">
        {read.error?.status === 404 ? (
          <NoApp requestId={read.error.requestId} />
        ) : (
          <>
            <h1 className="sr-only">App</h1>
            <Panel read={read} lines={6}>
              {() => null}
            </Panel>
            <Link to="/" className="target self-start text-link">
              Home
            </Link>
          </>
        )}
      </main>
    );
  return (
    <div className="flex h-full flex-col">
      <Panel read={read} lines={6}>
        {(app) => (
          <WorkspaceContext value={app.workspace_id}>
            <AppContext value={app}>
              <Desk app={app}>{children}</Desk>
            </AppContext>
          </WorkspaceContext>
        )}
      </Panel>
    </div>
  );
}

function NoApp({ requestId }: { readonly requestId: string | undefined }) {
  const ws = useLastWorkspace();
  return (
    <Empty>
      <h1 className="font-medium text-text">This app isn't here</h1>
      <p>It may be in the trash or deleted, or nobody has shared it with you.</p>
      {ws !== undefined && (
        <Link to="/w/$ws/apps" params={{ ws }} className={buttonClass()}>
          All apps
        </Link>
      )}
      <p className="font-mono text-caption break-all">Request {requestId}</p>
    </Empty>
  );
}

function Desk({ app, children }: { readonly app: AppData; readonly children: ReactNode }) {
  const { workspaces } = useMe();
  const role = workspaces.find(({ id }) => id === app.workspace_id)?.role;
  const hasChat = app.app_type === 'user_app' && role !== 'viewer';
  const { pathname } = useLocation();
  // On a phone there is room for one: the chat first, because that is where an app begins, unless the address names a tab.
  const beginsWithChat = hasChat && /^\/editor\/[^/]+(\/preview)?\/?$/.test(pathname);
  const [shown, setShown] = useState<'chat' | 'tab'>(beginsWithChat ? 'chat' : 'tab');
  const navigate = useNavigate();
  const [isGoingTo, setGoingTo] = useState(false);
  const tabsOfApp = tabs.map(({ to, label, letter, icon }) => ({
    id: to,
    label,
    hint: 'this app',
    letter,
    icon,
    run: () => void navigate({ to, params: { app: app.id } }),
  }));
  const publishButton = useRef<HTMLSpanElement>(null);
  const publish = {
    id: 'publish',
    label: 'Publish',
    hint: 'action',
    icon: Rocket,
    run: () => publishButton.current?.querySelector('button')?.click(),
  };
  const goHome = () => void navigate({ to: '/w/$ws', params: { ws: app.workspace_id } });
  const place = usePlace();
  const [path, setPath] = useState(pathname);
  if (path !== pathname) {
    setPath(pathname);
    setShown('tab');
  }
  return (
    <div className="flex min-h-0 grow flex-col">
      <header className="flex h-bar shrink-0 items-center gap-2 border-b border-line bg-card px-2 middle:gap-3 middle:px-4">
        <Link to="/w/$ws" params={{ ws: app.workspace_id }} aria-label="Home" title="Home" className={iconLinkClass}>
          <House size={16} aria-hidden />
        </Link>
        <span aria-hidden className="text-line">
          /
        </span>
        <span className="min-w-0 truncate font-semibold">{app.name}</span>
        <span className="hidden shrink-0 items-center gap-2 text-dense text-quiet middle:flex">
          revision {app.revision}
          <AppState app={app} />
        </span>
        <span className="grow" />
        <IconButton icon={Search} name="Go to (Ctrl + K)" onClick={() => setGoingTo(true)} />
        <GoTo ws={app.workspace_id} items={tabsOfApp} actions={[publish]} isOpen={isGoingTo} onOpen={setGoingTo} />
        <Keys places={[{ letter: 'h', label: 'Home', run: goHome }, ...tabsOfApp]} />
        <ThemeMenu side="bottom" />
        <Link
          to="/editor/$app/settings"
          params={{ app: app.id }}
          hash="sharing"
          aria-label="Share"
          title="Share"
          className={buttonClass()}
        >
          <UserPlus size={16} aria-hidden />
          <span className="hidden middle:inline">Share</span>
        </Link>
        <span ref={publishButton} className="flex">
          <PublishButton app={app} />
        </span>
      </header>
      <main className="flex min-h-0 grow">
        {hasChat && (
          <div
            className={classNames(
              'min-h-0 min-w-0 bg-sunken wide:flex wide:w-chat wide:shrink-0 wide:flex-col wide:border-r wide:border-line',
              shown === 'chat' ? 'grow wide:grow-0' : 'hidden',
            )}
          >
            <Boundary>
              <Chat app={app} />
            </Boundary>
          </div>
        )}
        <div className={classNames('min-h-0 min-w-0 grow flex-col wide:flex', shown === 'tab' ? 'flex' : 'hidden')}>
          <nav
            aria-label="App"
            className="flex shrink-0 gap-1 overflow-x-auto border-b border-line bg-card px-2 middle:px-4"
          >
            {tabs.map((tab) => (
              <Tab key={tab.to} app_id={app.id} {...tab} />
            ))}
          </nav>
          <div className="flex min-h-0 min-w-0 grow flex-col overflow-y-auto">
            <Boundary key={place}>{children}</Boundary>
          </div>
        </div>
      </main>
      {hasChat && (
        <nav aria-label="Chat or app" className="flex shrink-0 border-t border-line bg-card wide:hidden">
          <Switch icon={MessageSquare} label="Chat" isOn={shown === 'chat'} onChoose={() => setShown('chat')} />
          <Switch icon={PanelsTopLeft} label="App" isOn={shown === 'tab'} onChoose={() => setShown('tab')} />
        </nav>
      )}
    </div>
  );
}

function Tab({ app_id, to, label, icon: Icon }: { readonly app_id: string } & (typeof tabs)[number]) {
  const link = useRef<HTMLAnchorElement>(null);
  const isHere = useMatchRoute()({ to, params: { app: app_id }, fuzzy: true }) !== false;
  // A phone has room for some tabs only, so the present one is scrolled into view.
  useEffect(() => {
    if (isHere) link.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [isHere]);
  return (
    <Link
      ref={link}
      to={to}
      params={{ app: app_id }}
      activeProps={{ className: 'border-accent text-text' }}
      inactiveProps={{ className: 'border-transparent text-quiet hover:text-text' }}
      className="flex h-large-target shrink-0 items-center gap-2 border-b-2 px-2 font-medium transition-colors middle:px-3"
    >
      <Icon size={16} aria-hidden />
      {label}
    </Link>
  );
}

interface SwitchProps {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly isOn: boolean;
  onChoose(): void;
}

function Switch({ icon: Icon, label, isOn, onChoose }: SwitchProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onChoose}
      className={classNames(
        'flex h-bar grow basis-0 flex-col items-center justify-center gap-1 text-caption font-medium',
        isOn ? 'text-link' : 'text-quiet',
      )}
    >
      <Icon size={16} aria-hidden />
      {label}
    </button>
  );
}
