// All apps of the workspace, and its trash.
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus, RotateCcw, Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { App } from '../../data/app-context.ts';
import { useChange } from '../../data/use-change.ts';
import { usePages } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { More } from '../../ui/more.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Screen } from '../../ui/screen.tsx';
import { AppCard } from './app-card.tsx';
import { AppMenu, FolderBar } from './folders.tsx';

interface AppsProps {
  readonly ws: string;
  readonly q: string;
  readonly folder: string | undefined;
}

export function AppsScreen({ ws, q, folder }: AppsProps) {
  const navigate = useNavigate();
  const [text, setText] = useState(q);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== q)
        void navigate({
          to: '/w/$ws/apps',
          params: { ws },
          search: { ...(text && { q: text }), ...(folder && { folder }) },
          replace: true,
        });
    }, 300);
    return () => clearTimeout(timer);
  }, [text, q, folder, ws, navigate]);
  const folders = usePages('listFolders', { app_type: 'user_app', limit: 100 });
  const apps = usePages(
    'listApps',
    {
      app_type: 'user_app,imported_app',
      sort: '-updated_date',
      limit: 30,
      ...(q && { search: q }),
      ...(folder && { folder_id: folder }),
    },
    { every: 30_000 },
  );
  return (
    <Screen
      title="Apps"
      actions={
        <>
          <label className="flex items-center gap-2 rounded-medium border border-field bg-raised px-3 shadow-card focus-within:border-focus">
            <Search size={16} aria-hidden className="text-quiet" />
            <span className="sr-only">Search by name</span>
            <input
              type="search"
              value={text}
              onChange={({ target }) => setText(target.value)}
              placeholder="Search by name"
              className="target bg-transparent text-long outline-none middle:text-body"
            />
          </label>
          <Link to="/w/$ws" params={{ ws }} className={buttonClass('primary')}>
            <Plus size={16} aria-hidden />
            New app
          </Link>
        </>
      }
    >
      <FolderBar ws={ws} folders={folders} chosen={folder} />
      <Panel read={apps} lines={4} empty={explainEmpty(q, folder)}>
        {(items) => (
          <>
            <ul className="grid grid-cols-1 gap-4 middle:grid-cols-2 wide:grid-cols-3">
              {items.map((app) => (
                <li key={app.id} className="relative flex min-w-0 flex-col">
                  <AppCard app={app} />
                  <span className="absolute top-2 right-2">
                    <AppMenu app={app} folders={folders.data ?? []} folder={folder} />
                  </span>
                </li>
              ))}
            </ul>
            <More pages={apps} />
          </>
        )}
      </Panel>
    </Screen>
  );
}

function explainEmpty(q: string, folder: string | undefined): string {
  if (q) return `No app has “${q}” in its name.`;
  if (folder) return 'This folder is empty. Add apps to it from the menu of each app.';
  return 'There are no apps yet. Describe the first one on the home page.';
}

export function TrashScreen() {
  const apps = usePages('listApps', { app_type: 'user_app,imported_app', deleted: true, limit: 30 });
  return (
    <Screen title="Trash">
      <p className="text-quiet">Deleted apps stay here for 30 days, with their files, their data and their users.</p>
      <Panel read={apps} empty="The trash is empty.">
        {(items) => (
          <>
            <ul className="flex flex-col divide-y divide-line rounded-large border border-line bg-card shadow-card">
              {items.map((app) => (
                <TrashRow key={app.id} app={app} />
              ))}
            </ul>
            <More pages={apps} />
          </>
        )}
      </Panel>
    </Screen>
  );
}

function TrashRow({ app }: { readonly app: App }) {
  const restore = useChange('restoreApp');
  const bringBack = async () =>
    sayOutcome(
      await restore.perform({ app_id: app.id }),
      `“${app.name}” is back among the apps.`,
      'The app stays in the trash.',
    );
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 p-4">
      <span className="flex min-w-0 flex-col">
        <span className="truncate font-medium">{app.name}</span>
        {app.deleted_date && (
          <span className="text-dense text-quiet">
            deleted <Since time={app.deleted_date} />
          </span>
        )}
      </span>
      <Button icon={RotateCcw} isBusy={restore.isSending} onClick={() => void bringBack()}>
        Restore
      </Button>
    </li>
  );
}
