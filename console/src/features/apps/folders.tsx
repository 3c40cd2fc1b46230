// The folders of a workspace's apps: chosen above the list, and filled from the menu of each app.
import { Link } from '@tanstack/react-router';
import { Folder, FolderMinus, FolderPlus, MoreHorizontal, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { App } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import type { Read } from '../../data/use-operation.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { DeleteApp } from '../../ui/delete-app.tsx';
import { Field, faultOf } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Menu, MenuItem, MenuLine } from '../../ui/menu.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Problem } from '../../ui/problem.tsx';

type FolderData = Data<'listFolders'>['items'][number];

const chip = (isChosen: boolean): string =>
  classNames(
    'target inline-flex items-center gap-2 rounded-full border px-3 transition-colors',
    isChosen ? 'border-accent bg-active text-on-active' : 'border-line bg-card hover:bg-hover',
  );

interface FolderBarProps {
  readonly ws: string;
  readonly folders: Read<readonly FolderData[]>;
  readonly chosen: string | undefined;
}

export function FolderBar({ ws, folders, chosen }: FolderBarProps) {
  const [isAdding, setAdding] = useState(false);
  return (
    <nav aria-label="Folders" className="flex flex-wrap items-center gap-2">
      {folders.error && <Problem error={folders.error} title="The folders could not be read" onAgain={folders.again} />}
      {folders.data !== undefined && folders.data.length > 0 && (
        <Link to="/w/$ws/apps" params={{ ws }} className={chip(chosen === undefined)}>
          All apps
        </Link>
      )}
      {folders.data?.map(({ id, name, item_count }) => (
        <Link
          key={id}
          to="/w/$ws/apps"
          params={{ ws }}
          search={{ folder: id }}
          aria-current={chosen === id ? 'page' : undefined}
          className={chip(chosen === id)}
        >
          <Folder size={16} aria-hidden />
          {name}
          <span className="text-dense">{item_count}</span>
        </Link>
      ))}
      <Button kind="quiet" icon={FolderPlus} onClick={() => setAdding(true)}>
        New folder
      </Button>
      <NewFolder isOpen={isAdding} onClose={() => setAdding(false)} />
    </nav>
  );
}

function NewFolder({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const create = useChange('createFolder');
  return (
    <FormDialog
      isOpen={isOpen}
      title="New folder"
      change={create}
      action="Create"
      refused="The folder was not created"
      toArgs={(entered) => ({ name: String(entered.get('name')), app_type: 'user_app', scope: 'workspace' })}
      onDone={(ended, { name }) => sayOutcome(ended, `The folder “${name}” is created.`, '')}
      onClose={onClose}
    >
      <Field label="Name" name="name" required fault={faultOf(create.error, 'name')} />
    </FormDialog>
  );
}

interface AppMenuProps {
  readonly app: App;
  readonly folders: readonly FolderData[];
  /** The folder that is shown, out of which the app can be taken. */
  readonly folder: string | undefined;
}

export function AppMenu({ app, folders, folder }: AppMenuProps) {
  const add = useChange('addFolderItems');
  const takeOut = useChange('removeFolderItem');
  const [isAsking, setAsking] = useState(false);
  const addTo = async ({ id, name }: FolderData) =>
    sayOutcome(
      await add.perform({ folder_id: id, app_ids: [app.id] }),
      `“${app.name}” is in the folder “${name}”.`,
      'The folder was not changed.',
    );
  const takeOutOf = async (folder_id: string) =>
    sayOutcome(
      await takeOut.perform({ folder_id, app_id: app.id }),
      `“${app.name}” is no longer in the folder.`,
      'The folder was not changed.',
    );
  return (
    <>
      <Menu
        name={`What to do with ${app.name}`}
        label={<MoreHorizontal size={16} aria-hidden className="text-quiet" />}
        align="end"
      >
        {folders
          .filter(({ id }) => id !== folder)
          .map((each) => (
            <MenuItem key={each.id} icon={FolderPlus} onSelect={() => void addTo(each)}>
              Add to {each.name}
            </MenuItem>
          ))}
        {folder !== undefined && (
          <MenuItem icon={FolderMinus} onSelect={() => void takeOutOf(folder)}>
            Take out of this folder
          </MenuItem>
        )}
        {(folders.length > 0 || folder !== undefined) && <MenuLine />}
        <MenuItem icon={Trash2} isDangerous onSelect={() => setAsking(true)}>
          Move to the trash
        </MenuItem>
      </Menu>
      <DeleteApp app={app} isOpen={isAsking} onClose={() => setAsking(false)} />
    </>
  );
}
