// The data of an app: its kinds of records, and a plain table of the records of one.
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { Database, Eye } from 'lucide-react';
import { useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import { AppUserContext, type Data } from '../../data/client.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { Age, Since } from '../../ui/age.tsx';
import { AppUserSelect } from '../../ui/app-user-select.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Figure } from '../../ui/figure.tsx';
import { More } from '../../ui/more.tsx';
import { Empty, Panel } from '../../ui/panel.tsx';
import { plural } from '../../ui/times.ts';
import { chooseColumns, formatValue, mayBeHidden, nameField, showsOnlyOwn } from './columns.ts';

type Entity = Data<'listEntitySchemas'>[number];
type EntityRecord = Data<'listRecords'>['items'][number];

interface DataProps {
  readonly entity: string | undefined;
  /** The user of the app as whom records are read. Undefined for the signed-in person. */
  readonly as: string | undefined;
}

export function DataScreen({ entity, as }: DataProps) {
  const app = useApp();
  const entities = useOperation('listEntitySchemas', { app_id: app.id });
  return (
    <div className="flex min-h-0 grow flex-col gap-4 p-4 middle:p-6">
      <h1 className="text-heading font-semibold">Data</h1>
      <Panel
        read={entities}
        lines={6}
        empty={
          <>
            <Database size={32} aria-hidden />
            <p className="font-medium text-text">This app keeps no data yet</p>
            <p>Say in the chat what it should remember, for example “keep a list of guests”.</p>
          </>
        }
      >
        {(items) => {
          const chosen = items.find(({ name }) => name === entity);
          const first = items[0];
          if (chosen === undefined && entity === undefined && first !== undefined)
            return <Navigate to="/editor/$app/data/$entity" params={{ app: app.id, entity: first.name }} replace />;
          return (
            <div className="flex min-h-0 flex-col gap-4">
              <nav aria-label="Kinds of data" className="flex flex-wrap gap-2">
                {items.map(({ name }) => (
                  <Link
                    key={name}
                    to="/editor/$app/data/$entity"
                    params={{ app: app.id, entity: name }}
                    search={as === undefined ? {} : { as }}
                    aria-current={name === entity ? 'page' : undefined}
                    className={classNames(
                      'target inline-flex items-center gap-2 rounded-full border px-3 transition-colors',
                      name === entity ? 'border-accent bg-active text-on-active' : 'border-line bg-card hover:bg-hover',
                    )}
                  >
                    {name}
                  </Link>
                ))}
              </nav>
              {chosen ? (
                <>
                  <SeenAs entity={chosen.name} as={as} />
                  <AppUserContext value={as === undefined ? undefined : { app_id: app.id, user_id: as }}>
                    <Records key={chosen.name} entity={chosen} isOwn={as === undefined} />
                  </AppUserContext>
                </>
              ) : (
                <Empty>There is no data named “{entity}” in this app.</Empty>
              )}
            </div>
          );
        }}
      </Panel>
    </div>
  );
}

/** Rules decide for everybody, also for those who build the app, so records are looked at as one of its users. */
function SeenAs({ entity, as }: { readonly entity: string; readonly as: string | undefined }) {
  const choose = useChoosePerson(entity);
  return (
    <div className="max-w-form">
      <AppUserSelect label="Seen as" nobody="Yourself" user={as} onChoose={choose} />
    </div>
  );
}

function useChoosePerson(entity: string) {
  const app = useApp();
  const navigate = useNavigate();
  return (user: string | undefined) =>
    void navigate({
      to: '/editor/$app/data/$entity',
      params: { app: app.id, entity },
      search: user === undefined ? {} : { as: user },
    });
}

interface RecordsProps {
  readonly entity: Entity;
  readonly isOwn: boolean;
}

/** The rows come first. The count is asked for besides, and never delays them. */
function Records({ entity, isOwn }: RecordsProps) {
  const app = useApp();
  const records = usePages('listRecords', { app_id: app.id, entity_name: entity.name, limit: 50 });
  const count = useOperation('countRecords', { app_id: app.id, entity_name: entity.name });
  const [shown, setShown] = useState<EntityRecord>();
  const columns = chooseColumns(entity.schema);
  return (
    <section aria-label={entity.name} className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3 text-dense text-quiet">
        <span>
          <Figure value={count.data?.count} /> {isOwn ? 'that you may see' : 'that this user may see'}
        </span>
        {entity.closed_operations.length > 0 && (
          <Badge tone="neutral">closed to users: {entity.closed_operations.join(', ')}</Badge>
        )}
        <span className="grow" />
        {records.readAt > 0 && <Age readAt={records.readAt} />}
      </div>
      <Panel
        read={records}
        lines={8}
        empty={isOwn ? <NothingOfYours entity={entity} /> : `This user may see no ${entity.name}.`}
      >
        {(items) => (
          <>
            <div
              tabIndex={0}
              role="group"
              aria-label="Table"
              className="overflow-x-auto rounded-large border border-line bg-card shadow-card"
            >
              <table className="w-full border-collapse text-dense">
                <thead>
                  <tr className="border-b border-line text-left text-quiet">
                    {columns.map(({ field, label }) => (
                      <th key={field} scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                        {label}
                      </th>
                    ))}
                    <th scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                      Added
                    </th>
                  </tr>
                </thead>
                <tbody className="divide-y divide-line">
                  {items.map((record) => (
                    <tr key={record.id} className="transition-colors hover:bg-hover">
                      {columns.map(({ field }, index) => (
                        <td key={field} className="max-w-form truncate px-4 py-2">
                          {index === 0 ? (
                            <button
                              type="button"
                              className="target max-w-full truncate text-left text-link"
                              onClick={() => setShown(record)}
                            >
                              {formatValue(record[field]) || record.id}
                            </button>
                          ) : mayBeHidden(record, field, entity.schema) ? (
                            <span className="text-quiet">hidden or empty</span>
                          ) : (
                            formatValue(record[field])
                          )}
                        </td>
                      ))}
                      <td className="px-4 py-2 whitespace-nowrap text-quiet">
                        {record.created_date && <Since time={record.created_date} />}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p className="pt-2 text-caption text-quiet">{plural(items.length, 'record', 'records')} shown</p>
            <More pages={records} />
          </>
        )}
      </Panel>
      <Dialog isOpen={shown !== undefined} title={entity.name} onClose={() => setShown(undefined)}>
        {shown && <RecordFields record={shown} schema={entity.schema} isOwn={isOwn} />}
      </Dialog>
    </section>
  );
}

interface RecordFieldsProps {
  readonly record: EntityRecord;
  readonly schema: Entity['schema'];
  readonly isOwn: boolean;
}

/** What the app keeps comes first. What Plinth adds to each record is folded. */
function RecordFields({ record, schema, isOwn }: RecordFieldsProps) {
  const { properties = {} } = schema;
  const own = Object.keys(properties);
  const added = Object.keys(record).filter((field) => !own.includes(field));
  const describe = (field: string) =>
    mayBeHidden(record, field, schema)
      ? `empty, or not shown to ${isOwn ? 'you' : 'this user'}`
      : formatValue(record[field]) || 'empty';
  const draw = (fields: readonly string[]) => (
    <dl className="grid grid-cols-1 gap-3">
      {fields.map((field) => (
        <div key={field} className="flex min-w-0 flex-col">
          <dt className="text-caption text-quiet">{nameField(field, properties)}</dt>
          <dd className="whitespace-pre-wrap">{describe(field)}</dd>
        </div>
      ))}
    </dl>
  );
  return (
    <>
      {draw(own)}
      <details className="border-t border-line pt-2">
        <summary className="target text-quiet">Technical details</summary>
        <div className="pt-2">{draw(added)}</div>
      </details>
    </>
  );
}

/** As many people are offered as buttons. All others are under “Seen as”. */
const maxOffered = 3;

function NothingOfYours({ entity: { name, schema } }: { readonly entity: Entity }) {
  const app = useApp();
  const choose = useChoosePerson(name);
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
          <Button key={id} icon={Eye} onClick={() => choose(id)}>
            See it as {full_name || email}
          </Button>
        ))}
      </div>
      {users.data?.length === 0 && <p>Nobody has an account in this app yet.</p>}
    </>
  );
}
