// The revisions of an app, and what each of them changed.
import { Link } from '@tanstack/react-router';
import {
  ChevronDown,
  ChevronRight,
  Database,
  Download,
  FileMinus,
  FilePen,
  FilePlus,
  History,
  MonitorSmartphone,
} from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { type ReadPages, useOperation, usePages } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { compareTexts, countLines, readDiff } from '../../ui/diff.ts';
import { DiffView } from '../../ui/diff-view.tsx';
import { ListBesideDetails } from '../../ui/list-beside-details.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { More } from '../../ui/more.tsx';
import { Empty, Panel, Remark } from '../../ui/panel.tsx';
import { withoutQuestion } from '../../ui/question.ts';
import { plural } from '../../ui/times.ts';
import { RestoreButton } from './restore.tsx';
import { describeAuthor, describeCause, describeEffect } from './revision.ts';
import { describeEntityChange } from './schema-words.ts';

type Revision = Data<'listRevisions'>['items'][number];

/** The list, and on a desk beside it the revision that was chosen. */
export function RevisionsScreen({ rev }: { readonly rev: string | undefined }) {
  const app = useApp();
  const revisions = usePages('listRevisions', { app_id: app.id, limit: 50 });
  return (
    <ListBesideDetails
      title="Revisions"
      list={
        <Panel read={revisions} lines={6} empty="No revision is kept yet.">
          {(items) => <List items={items} rev={rev} pages={revisions} />}
        </Panel>
      }
      details={rev === undefined ? undefined : <Details key={rev} rev={rev} />}
      back={
        <Link to="/editor/$app/revisions" params={{ app: app.id }} className="target text-link">
          All revisions
        </Link>
      }
      hint={{ icon: History, text: 'Choose a revision to see what it changed.' }}
    />
  );
}

interface ListProps {
  readonly items: readonly Revision[];
  readonly rev: string | undefined;
  readonly pages: ReadPages<Revision>;
}

function List({ items, rev, pages }: ListProps) {
  const app = useApp();
  return (
    <>
      <ul className="flex flex-col gap-1">
        {items.map((revision) => (
          <li key={revision.revision}>
            <Link
              to="/editor/$app/revisions/$rev"
              params={{ app: app.id, rev: String(revision.revision) }}
              aria-current={rev === String(revision.revision) ? 'true' : undefined}
              className={classNames(
                'flex flex-col gap-1 rounded-medium px-3 py-2 transition-colors',
                rev === String(revision.revision) ? 'bg-card shadow-card' : 'hover:bg-hover',
              )}
            >
              <span className="flex items-center gap-2">
                <span className="font-semibold">Revision {revision.revision}</span>
                {revision.live && <Badge tone="good">live</Badge>}
                {!revision.kept && <Badge tone="wait">not kept</Badge>}
              </span>
              <span className="line-clamp-2 text-dense">{revision.summary ?? describeCause(revision)}</span>
              <span className="text-caption text-quiet">
                <Since time={revision.created_date} /> · {describeEffect(revision)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <More pages={pages} />
    </>
  );
}

const kinds = {
  added: { icon: FilePlus, word: 'new' },
  changed: { icon: FilePen, word: 'changed' },
  removed: { icon: FileMinus, word: 'removed' },
} as const;

function Details({ rev }: { readonly rev: string }) {
  const app = useApp();
  const revision = useOperation('getRevision', { app_id: app.id, revision: rev });
  return (
    <div className="flex flex-col gap-4 p-4 middle:p-6">
      <Panel read={revision} lines={8}>
        {(shown) => (
          <div className="flex flex-col gap-6">
            <header className="flex flex-col gap-3">
              <div className="flex flex-wrap items-center justify-between gap-3">
                <h2 className="flex flex-wrap items-center gap-2 text-heading font-semibold">
                  Revision {shown.revision}
                  {shown.live && <Badge tone="good">live</Badge>}
                  {shown.revision === app.revision && <Badge>current</Badge>}
                </h2>
                {shown.kept && (
                  <div className="flex flex-wrap gap-2">
                    <Link
                      to="/editor/$app/preview"
                      params={{ app: app.id }}
                      search={{ rev: shown.revision }}
                      className={buttonClass()}
                    >
                      <MonitorSmartphone size={16} aria-hidden />
                      Look at it
                    </Link>
                    <DownloadLink revision={shown.revision} />
                    {shown.revision !== app.revision && <RestoreButton revision={shown.revision} />}
                  </div>
                )}
              </div>
              {shown.summary && <p className="max-w-reading text-long">“{shown.summary}”</p>}
              <p className="text-quiet">
                {describeAuthor(shown)}, <Since time={shown.created_date} />
                {shown.against !== null && shown.against !== undefined && `, compared with revision ${shown.against}`}
              </p>
            </header>
            {shown.message_id !== null && <Reply to={shown.message_id} />}
            {shown.against === null && <Remark>The revision before is not kept, so all its files count as new.</Remark>}
            <Effect revision={shown} />
          </div>
        )}
      </Panel>
    </div>
  );
}

/** What the assistant said when it had made the revision. Of an old one, it is further up in the chat. */
function Reply({ to }: { readonly to: string }) {
  const app = useApp();
  const { data = [] } = usePages('getChat', { app_id: app.id, limit: 30 });
  const asked = data.findIndex(({ id }) => id === to);
  const reply = asked === -1 ? undefined : data.slice(0, asked).findLast(({ role }) => role !== 'system');
  if (reply?.role !== 'assistant') return null;
  return (
    <section aria-labelledby="reply" className="flex flex-col gap-2">
      <h3 id="reply" className="font-semibold">
        What the assistant said
      </h3>
      <div className="max-w-reading rounded-large border border-line bg-card p-4 shadow-card">
        <Markdown text={withoutQuestion(reply)} />
      </div>
    </section>
  );
}

/** What changed: the data in words, and the code line by line for those who ask for it. */
function Effect({ revision }: { readonly revision: Revision }) {
  const { changes = [], entity_changes = [], header_changes } = revision;
  const inWords = [
    ...entity_changes.flatMap(describeEntityChange),
    ...(header_changes ? ['The security headers, which tell browsers what pages may do, were changed.'] : []),
  ];
  const [isOpen, setOpen] = useState(inWords.length === 0 && revision.cause !== 'chat');
  if (changes.length === 0 && inWords.length === 0) return <Empty>Nothing differs between the two revisions.</Empty>;
  return (
    <>
      {inWords.length > 0 && (
        <section aria-labelledby="data-changes" className="flex flex-col gap-2">
          <h3 id="data-changes" className="font-semibold">
            Data and rules
          </h3>
          <ul className="flex max-w-reading flex-col divide-y divide-line rounded-large border border-line bg-card shadow-card">
            {inWords.map((line) => (
              <li key={line} className="flex gap-3 px-4 py-3">
                <Database size={16} aria-hidden className="mt-px shrink-0 text-quiet" />
                <span className="min-w-0">{line}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="code-changes" className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <h3 id="code-changes" className="flex flex-wrap items-baseline gap-x-2 font-semibold">
            Code <CodeCount changes={changes} />
          </h3>
          <Button icon={isOpen ? ChevronDown : ChevronRight} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide the code' : 'Show the code'}
          </Button>
        </div>
        {isOpen && (
          <>
            {changes.map((change) => (
              <FileChange key={change.path} change={change} />
            ))}
            {entity_changes.map((change) => (
              <ValueChange
                key={change.name}
                title={`Data “${change.name}”`}
                before={change.before}
                after={change.after}
              />
            ))}
            {header_changes && <ValueChange title="Security headers" {...header_changes} />}
          </>
        )}
      </section>
    </>
  );
}

type FileChanges = NonNullable<Revision['changes']>;

function CodeCount({ changes }: { readonly changes: FileChanges }) {
  const lines = changes.flatMap(({ diff }) => (diff === null ? [] : readDiff(diff)));
  const isWhole = changes.every(({ diff, diff_cut }) => diff !== null && !diff_cut);
  return (
    <span className="text-dense font-normal text-quiet">
      {changes.length === 0 ? 'the description of the data' : plural(changes.length, 'file', 'files')}{' '}
      {isWhole && lines.length > 0 && <LineCounts {...countLines(lines)} />}
    </span>
  );
}

function LineCounts({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span className="font-mono text-caption whitespace-nowrap">
      <span className="text-on-good">+{added}</span> <span className="text-on-bad">−{removed}</span>
      <span className="sr-only"> {plural(added + removed, 'line', 'lines')}</span>
    </span>
  );
}

function DownloadLink({ revision }: { readonly revision: number }) {
  const app = useApp();
  return (
    <a href={`/api/apps/${app.id}/files/archive?revision=${revision}`} download className={buttonClass()}>
      <Download size={16} aria-hidden />
      Download
    </a>
  );
}

function FileChange({ change }: { readonly change: FileChanges[number] }) {
  const { icon: Icon, word } = kinds[change.kind];
  const lines = change.diff === null ? undefined : readDiff(change.diff);
  const counts = lines && countLines(lines);
  return (
    <Change
      title={change.path}
      word={word}
      icon={<Icon size={16} aria-hidden className="shrink-0 text-quiet" />}
      {...(counts && { counts })}
      isFolded={counts !== undefined && counts.added + counts.removed > 200}
    >
      {lines === undefined ? (
        <p className="p-3 text-quiet">
          {change.diff_cut ? 'The difference is too long to be shown.' : 'The file is not text, or only moved.'}
        </p>
      ) : (
        <DiffView lines={lines} />
      )}
      {change.diff !== null && change.diff_cut && <p className="p-3 text-quiet">The difference is cut here.</p>}
    </Change>
  );
}

interface ChangeProps {
  readonly title: string;
  readonly word: string;
  readonly icon?: ReactNode;
  readonly counts?: { readonly added: number; readonly removed: number };
  readonly isFolded?: boolean;
  readonly children: ReactNode;
}

function Change({ title, word, icon, counts, isFolded = false, children }: ChangeProps) {
  return (
    <details open={!isFolded} className="overflow-hidden rounded-large border border-line bg-card shadow-card">
      <summary className="target flex list-none items-center gap-2 px-3 py-2">
        {icon}
        <span className="min-w-0 truncate font-mono text-dense font-semibold">{title}</span>
        <Badge>{word}</Badge>
        <span className="grow" />
        {counts && <LineCounts {...counts} />}
      </summary>
      <div className="border-t border-line">{children}</div>
    </details>
  );
}

interface ValueChangeProps {
  readonly title: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** The difference between two values, as JSON. */
function ValueChange({ title, before, after }: ValueChangeProps) {
  const lines = compareTexts(toText(before), toText(after));
  return (
    <Change
      title={title}
      word={before === null ? 'new' : after === null ? 'removed' : 'changed'}
      icon={<Database size={16} aria-hidden className="shrink-0 text-quiet" />}
      counts={countLines(lines)}
    >
      <DiffView lines={lines} />
    </Change>
  );
}

const toText = (value: unknown): string =>
  value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
