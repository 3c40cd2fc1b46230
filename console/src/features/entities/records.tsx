// The records of one kind: all of them for those who build the app, or what its rules show to one person.
import { useNavigate } from '@tanstack/react-router';
import { Eye, Search } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import { AppUserContext, type Data } from '../../data/client.ts';
import { type ReadPages, useOperation, usePages } from '../../data/use-operation.ts';
import { Age } from '../../ui/age.tsx';
import { AppUserSelect } from '../../ui/app-user-select.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Figure } from '../../ui/figure.tsx';
import { Panel } from '../../ui/panel.tsx';
import { showsOnlyOwn } from './columns.ts';
import { Download } from './download.tsx';
import { RecordsTable } from './records-table.tsx';
import { describeTotal } from './rows.ts';

type Entity = Data<'listEntitySchemas'>[number];

/** What the address says about the records that are shown. */
export interface View {
  /** The user of the app as whom records are read. */
  readonly as?: string;
  /** The text that records must contain. */
  readonly q?: string;
}

interface RecordsProps {
  readonly entity: Entity;
  readonly view: View;
}

export function Records({ entity, view }: RecordsProps) {
  const app = useApp();
  const show = useShow(entity.name);
  const { as, q = '' } = view;
  const args = { app_id: app.id, entity_name: entity.name, ...(q !== '' && { search: q }) };
  const all = usePages('listAllRecords', { ...args, limit: 50 }, { when: as === undefined });
  // Who only looks at the app is refused, and sees what the rules show.
  const isRefused = all.error?.status === 403;
  return (
    <>
      <div className="max-w-form">
        <AppUserSelect
          label="Show"
          nobody={isRefused ? 'What you see' : 'All records'}
          describe={(name) => `What ${name} sees`}
          user={as}
          onChoose={(user) => show(user === undefined ? {} : { as: user })}
        />
      </div>
      {as === undefined && !isRefused ? (
        <AllRecords entity={entity} q={q} args={args} pages={all} />
      ) : (
        <AppUserContext value={as === undefined ? undefined : { app_id: app.id, user_id: as }}>
          <SeenRecords entity={entity} isOwn={as === undefined} />
        </AppUserContext>
      )}
    </>
  );
}

function useShow(entity: string) {
  const app = useApp();
  const navigate = useNavigate();
  return (search: View) =>
    void navigate({ to: '/editor/$app/data/$entity', params: { app: app.id, entity }, search, replace: 'q' in search });
}

interface AllRecordsProps {
  readonly entity: Entity;
  readonly q: string;
  readonly args: { readonly app_id: string; readonly entity_name: string; readonly search?: string };
  readonly pages: ReadPages<Data<'listAllRecords'>['items'][number], Data<'listAllRecords'>>;
}

function AllRecords({ entity, q, args, pages }: AllRecordsProps) {
  const show = useShow(entity.name);
  const { closed_operations } = entity;
  return (
    <Frame
      entity={entity}
      about={<span role="status">{describeTotal(pages.first?.total, q)}</span>}
      readAt={pages.readAt}
      actions={
        <>
          <SearchField key={entity.name} q={q} onSearch={(text) => show(text === '' ? {} : { q: text })} />
          <Download entity={entity} listing="listAllRecords" args={args} toRow={(item) => item} />
        </>
      }
    >
      <p className="max-w-reading text-dense text-quiet">
        You build this app, so you see everything in it.{' '}
        {closed_operations.includes('read')
          ? 'Its users see none of these records.'
          : showsOnlyOwn(entity.schema)
            ? 'Its users see only what they have created.'
            : 'Its rules decide what its users see.'}
      </p>
      <Panel
        read={pages}
        lines={8}
        empty={
          q === ''
            ? `No ${entity.name} is stored yet. What people enter in the app appears here.`
            : `No ${entity.name} contains “${q}”.`
        }
      >
        {(rows) => (
          <RecordsTable
            entity={entity}
            rows={rows}
            pages={pages}
            seenBy={undefined}
            onSeeAs={(user) => show({ as: user })}
          />
        )}
      </Panel>
    </Frame>
  );
}

/** The rows come first. The count is asked for besides, and never delays them. */
function SeenRecords({ entity, isOwn }: { readonly entity: Entity; readonly isOwn: boolean }) {
  const app = useApp();
  const show = useShow(entity.name);
  const args = { app_id: app.id, entity_name: entity.name };
  const records = usePages('listRecords', { ...args, limit: 50 });
  const count = useOperation('countRecords', args);
  return (
    <Frame
      entity={entity}
      about={
        <span>
          <Figure value={count.data?.count} /> {isOwn ? 'that you may see' : 'that this user may see'}
        </span>
      }
      readAt={records.readAt}
      actions={<Download entity={entity} listing="listRecords" args={args} toRow={(record) => ({ record })} />}
    >
      <Panel
        read={records}
        lines={8}
        empty={isOwn ? <NothingOfYours entity={entity} /> : `This user may see no ${entity.name}.`}
      >
        {(items) => (
          <RecordsTable
            entity={entity}
            rows={items.map((record) => ({ record }))}
            pages={records}
            seenBy={isOwn ? 'you' : 'this user'}
            onSeeAs={(user) => show({ as: user })}
          />
        )}
      </Panel>
    </Frame>
  );
}

interface FrameProps {
  readonly entity: Entity;
  /** How many there are. */
  readonly about: ReactNode;
  readonly readAt: number;
  readonly actions: ReactNode;
  readonly children: ReactNode;
}

function Frame({ entity: { name, closed_operations }, about, readAt, actions, children }: FrameProps) {
  return (
    <section aria-label={name} className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3 text-dense text-quiet">
        {about}
        {closed_operations.length > 0 && <Badge tone="neutral">closed to users: {closed_operations.join(', ')}</Badge>}
        <span className="grow" />
        {readAt > 0 && <Age readAt={readAt} />}
        {actions}
      </div>
      {children}
    </section>
  );
}

const pauseMs = 300;
const maxCharacters = 100;

/** Searches once nothing was typed for a moment. */
function SearchField({ q, onSearch }: { readonly q: string; onSearch(text: string): void }) {
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => onSearch(text), pauseMs);
    return () => clearTimeout(timer);
  });
  return (
    <label className="flex items-center gap-2 rounded-medium border border-field bg-raised px-3 text-text shadow-card focus-within:border-focus">
      <Search size={16} aria-hidden className="text-quiet" />
      <span className="sr-only">Search the records</span>
      <input
        type="search"
        value={text}
        maxLength={maxCharacters}
        onChange={({ target }) => setText(target.value)}
        placeholder="Search the records"
        className="target min-w-0 bg-transparent text-long outline-none middle:text-body"
      />
    </label>
  );
}

/** As many people are offered as buttons. All others are in the list above. */
const maxOffered = 3;

function NothingOfYours({ entity: { name, schema } }: { readonly entity: Entity }) {
  const app = useApp();
  const show = useShow(name);
  const users = usePages('listAppUsers', { app_id: app.id, limit: 100 });
  return (
    <>
      <p className="font-medium text-text">The rules of {name} show you no records</p>
      <p>
        {showsOnlyOwn(schema)
          ? 'They let each person see only their own, and none of them is yours.'
          : 'Users of the app may see some.'}
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        {users.data?.slice(0, maxOffered).map(({ id, full_name, email }) => (
          <Button key={id} icon={Eye} onClick={() => show({ as: id })}>
            See it as {full_name || email}
          </Button>
        ))}
      </div>
      {users.data?.length === 0 && <p>Nobody has an account in this app yet.</p>}
    </>
  );
}
