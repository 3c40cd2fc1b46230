// The files of an app: a tree, and one file to read or change. A file that somebody else has changed is never
// overwritten.
import { Link } from '@tanstack/react-router';
import { File, Folder, Save } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useApp, useReadAgain } from '../../data/app-context.ts';
import { keepPref, readPref } from '../../data/prefs.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ListBesideDetails } from '../../ui/list-beside-details.tsx';
import { say, sayOutcome } from '../../ui/outcome.tsx';
import { Empty, Panel, Remark } from '../../ui/panel.tsx';
import { formatBytes } from '../../ui/times.ts';
import { DeleteFile, FileActions } from './file-actions.tsx';
import { buildTree, type TreeNode } from './tree.ts';

export function FilesScreen({ path }: { readonly path: string | undefined }) {
  const app = useApp();
  const files = usePages('listAppFiles', { app_id: app.id, limit: 100 });
  // A tree needs all of them, however many pages they take.
  const { hasMore, isReadingMore, error, more } = files;
  useEffect(() => {
    if (hasMore && !isReadingMore && error === null) more();
  });
  return (
    <ListBesideDetails
      title="Files"
      isNarrow
      actions={<FileActions />}
      list={
        <Panel
          read={files}
          lines={6}
          empty="The app has no files yet. They begin with the first message to the assistant."
        >
          {(items) => <Tree nodes={buildTree(items.map((file) => file.path))} chosen={path} depth={0} />}
        </Panel>
      }
      details={path === undefined ? undefined : <FileView key={path} path={path} />}
      back={
        <Link to="/editor/$app/files" params={{ app: app.id }} className="target text-link">
          All files
        </Link>
      }
      hint={{ icon: File, text: 'Choose a file to read or change it.' }}
    />
  );
}

const depths = ['pl-2', 'pl-6', 'pl-8', 'pl-12'];

function Tree({
  nodes,
  chosen,
  depth,
}: {
  readonly nodes: readonly TreeNode[];
  readonly chosen: string | undefined;
  readonly depth: number;
}) {
  const app = useApp();
  const indent = depths[Math.min(depth, 3)];
  return (
    <ul className="flex flex-col">
      {nodes.map((node) => (
        <li key={node.path}>
          {node.children ? (
            <>
              <span className={classNames('target flex items-center gap-2 text-quiet', indent)}>
                <Folder size={16} aria-hidden className="shrink-0" />
                <span className="truncate">{node.name}</span>
              </span>
              <Tree nodes={node.children} chosen={chosen} depth={depth + 1} />
            </>
          ) : (
            <Link
              to="/editor/$app/files"
              params={{ app: app.id }}
              search={{ path: node.path }}
              aria-current={chosen === node.path ? 'true' : undefined}
              className={classNames(
                'target flex items-center gap-2 rounded-small transition-colors',
                indent,
                chosen === node.path ? 'bg-active text-on-active' : 'hover:bg-hover',
              )}
            >
              <File size={16} aria-hidden className="shrink-0" />
              <span className="truncate">{node.name}</span>
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

function FileView({ path }: { readonly path: string }) {
  const app = useApp();
  const read = useOperation('getAppFile', { app_id: app.id, path });
  return (
    <div className="flex min-h-0 grow flex-col">
      <Panel read={read} lines={8}>
        {(file) =>
          file.encoding === 'utf-8' ? (
            <Editing path={path} stored={file} />
          ) : (
            <div className="m-auto max-w-form p-6">
              <Empty>
                <p className="font-medium text-text">{path}</p>
                <p>This file is not text, so it can't be shown here.</p>
              </Empty>
            </div>
          )
        }
      </Panel>
    </div>
  );
}

interface Stored {
  readonly content: string;
  readonly sha256: string;
  readonly revision: number;
}

/** What is typed stays in the browser until the server has saved it. */
function Editing({ path, stored }: { readonly path: string; readonly stored: Stored }) {
  const app = useApp();
  const draft = `draft.file.${app.id}.${path}` as const;
  const kept = useRef(readKept(draft));
  const [text, setText] = useState(kept.current?.text ?? stored.content);
  // The content that the text began with. While nothing is typed, it follows the server.
  const [base, setBase] = useState(kept.current?.base ?? stored);
  const isTyped = text !== base.content;
  const isOutdated = isTyped && stored.sha256 !== base.sha256;
  const save = useChange('putAppFile');
  const readAgain = useReadAgain(app.id);
  useEffect(() => {
    if (isTyped || stored.sha256 === base.sha256) return;
    setBase(stored);
    setText(stored.content);
  }, [stored, base, isTyped]);
  const change = (next: string) => {
    setText(next);
    keepPref(draft, next === base.content ? undefined : JSON.stringify({ text: next, base }));
  };
  const saveText = async () => {
    const ended = await save.perform({ app_id: app.id, path, content: text, expected_sha256: base.sha256 });
    if ('data' in ended) {
      keepPref(draft, undefined);
      setBase({ content: text, sha256: ended.data.sha256, revision: ended.data.revision });
    }
    if ('error' in ended && ended.error.status === 409) {
      await readAgain();
      say('wait', 'Somebody else has changed this file. Nothing was overwritten, and your text is still here.');
    } else
      sayOutcome(ended, `Saved as revision ${'data' in ended ? ended.data.revision : ''}.`, 'The file was not saved.');
  };
  const takeTheirs = () => {
    keepPref(draft, undefined);
    setBase(stored);
    setText(stored.content);
  };
  const keepOwn = () => {
    keepPref(draft, JSON.stringify({ text, base: stored }));
    setBase(stored);
  };
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-3 border-b border-line bg-card px-4 py-2">
        <h2 className="min-w-0 truncate font-mono text-dense font-semibold">{path}</h2>
        <span className="text-dense text-quiet">
          {isTyped ? 'not saved' : `saved, ${formatBytes(new TextEncoder().encode(base.content).length)}`}
        </span>
        <span className="grow" />
        <DeleteFile path={path} />
        <Button
          icon={Save}
          kind={isTyped ? 'primary' : 'plain'}
          disabled={!isTyped}
          isBusy={save.isSending}
          onClick={() => void saveText()}
          title="Ctrl + S"
        >
          Save
        </Button>
      </div>
      {isOutdated && (
        <div className="p-3">
          <Remark>
            This file has changed since you began, in revision {stored.revision}. Saving is refused until you decide.{' '}
            <button type="button" className="target underline" onClick={takeTheirs}>
              Take the new text and drop yours
            </button>{' '}
            <button type="button" className="target underline" onClick={keepOwn}>
              Keep yours, knowing that it replaces the new text
            </button>
          </Remark>
        </div>
      )}
      <textarea
        aria-label={`Content of ${path}`}
        value={text}
        spellCheck={false}
        onChange={({ target }) => change(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          if (isTyped && !save.isSending) void saveText();
        }}
        className="min-h-0 w-full grow resize-none bg-card p-4 font-mono text-dense whitespace-pre outline-none"
      />
    </div>
  );
}

/** The text that was typed and not saved, and the content that it began with. */
function readKept(draft: `draft.${string}`): { readonly text: string; readonly base: Stored } | undefined {
  const kept = readPref(draft);
  return kept === undefined ? undefined : JSON.parse(kept);
}
