// What can be done with files besides reading and changing one: add, upload, download all, delete.
import { useNavigate } from '@tanstack/react-router';
import { Download, FilePlus, Trash2, Upload } from 'lucide-react';
import { useRef, useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import { useChange } from '../../data/use-change.ts';
import { IconButton, iconLinkClass } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Field, faultOf } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { say, sayOutcome } from '../../ui/outcome.tsx';
import { plural } from '../../ui/times.ts';

export function FileActions() {
  const app = useApp();
  const [isAdding, setAdding] = useState(false);
  return (
    <div className="flex">
      <IconButton icon={FilePlus} name="New file" onClick={() => setAdding(true)} />
      <UploadButton />
      <a
        href={`/api/apps/${app.id}/files/archive`}
        download
        title="Download all files"
        aria-label="Download all files"
        className={iconLinkClass}
      >
        <Download size={16} aria-hidden />
      </a>
      <NewFile isOpen={isAdding} onClose={() => setAdding(false)} />
    </div>
  );
}

function NewFile({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const app = useApp();
  const navigate = useNavigate();
  const put = useChange('putAppFile');
  return (
    <FormDialog
      isOpen={isOpen}
      title="New file"
      change={put}
      action="Create"
      refused="The file was not created"
      toArgs={(entered) => ({
        app_id: app.id,
        path: String(entered.get('path')).trim(),
        content: '',
        expected_sha256: null,
      })}
      onDone={(_, { path }) => void navigate({ to: '/editor/$app/files', params: { app: app.id }, search: { path } })}
      onClose={onClose}
    >
      <Field
        label="Path"
        name="path"
        placeholder="public/about.html"
        hint="Files below public/ become the app's pages."
        required
        fault={faultOf(put.error, 'path')}
      />
    </FormDialog>
  );
}

/** Files of the same name are replaced: each upload is a revision, so what was there can be restored. */
function UploadButton() {
  const app = useApp();
  const put = useChange('putAppFile');
  const input = useRef<HTMLInputElement>(null);
  const upload = async (files: readonly File[]) => {
    for (const file of files) {
      const ended = await put.perform({
        app_id: app.id,
        path: `public/${file.name}`,
        content: toBase64(new Uint8Array(await file.arrayBuffer())),
        encoding: 'base64',
      });
      if (!('data' in ended)) return sayOutcome(ended, '', `${file.name} was not uploaded.`);
    }
    say('good', `${plural(files.length, 'file', 'files')} uploaded to public/.`);
  };
  return (
    <>
      <IconButton icon={Upload} name="Upload files" disabled={put.isSending} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          const files = [...(target.files ?? [])];
          target.value = '';
          if (files.length > 0) void upload(files);
        }}
      />
    </>
  );
}

/** In pieces, because a call takes only so many arguments. */
function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}

export function DeleteFile({ path }: { readonly path: string }) {
  const app = useApp();
  const navigate = useNavigate();
  const remove = useChange('deleteAppFile');
  const [isAsking, setAsking] = useState(false);
  const removeFile = async () => {
    const ended = await remove.perform({ app_id: app.id, path });
    sayOutcome(ended, `${path} is deleted.`, 'The file was not deleted.');
    setAsking(false);
    if ('data' in ended) await navigate({ to: '/editor/$app/files', params: { app: app.id } });
  };
  return (
    <>
      <IconButton icon={Trash2} name={`Delete ${path}`} onClick={() => setAsking(true)} />
      <Confirm
        isOpen={isAsking}
        title={`Delete ${path}?`}
        action="Delete the file"
        isBusy={remove.isSending}
        onConfirm={() => void removeFile()}
        onClose={() => setAsking(false)}
      >
        <p>This makes a new revision without the file. Earlier revisions keep it.</p>
      </Confirm>
    </>
  );
}
