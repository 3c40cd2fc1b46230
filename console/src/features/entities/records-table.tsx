// The table of records, and one of them with all its fields.
import { Eye } from 'lucide-react';
import { useState } from 'react';
import type { Data } from '../../data/client.ts';
import type { ReadPages } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { More } from '../../ui/more.tsx';
import { plural } from '../../ui/times.ts';
import { chooseColumns, formatValue, mayBeHidden, nameField } from './columns.ts';
import { nameCreator, type Row } from './rows.ts';

type Entity = Data<'listEntitySchemas'>[number];

interface TableProps {
  readonly entity: Entity;
  readonly rows: readonly Row[];
  readonly pages: ReadPages<unknown>;
  /** For whom fields may be hidden: the signed-in person or a user of the app. Undefined if all fields are shown. */
  readonly seenBy: 'you' | 'this user' | undefined;
  /** Shows what the user of the app who has created a record sees. */
  onSeeAs(user: string): void;
}

export function RecordsTable({ entity, rows, pages, seenBy, onSeeAs }: TableProps) {
  const [shown, setShown] = useState<Row>();
  const [first, ...others] = chooseColumns(entity.schema);
  const hasCreators = seenBy === undefined;
  const isHidden = (row: Row, field: string) => seenBy !== undefined && mayBeHidden(row.record, field, entity.schema);
  return (
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
              {[first?.label, ...(hasCreators ? ['Created by'] : []), ...others.map(({ label }) => label), 'Added'].map(
                (label) => (
                  <th key={label} scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                    {label}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {rows.map((row) => (
              <tr key={row.record.id} className="transition-colors hover:bg-hover">
                <td className="max-w-form truncate px-4 py-2">
                  <button
                    type="button"
                    className="target max-w-full truncate text-left text-link"
                    onClick={() => setShown(row)}
                  >
                    {formatValue(first && row.record[first.field]) || row.record.id}
                  </button>
                </td>
                {hasCreators && <td className="max-w-form truncate px-4 py-2">{nameCreator(row)}</td>}
                {others.map(({ field }) => (
                  <td key={field} className="max-w-form truncate px-4 py-2">
                    {isHidden(row, field) ? (
                      <span className="text-quiet">hidden or empty</span>
                    ) : (
                      formatValue(row.record[field])
                    )}
                  </td>
                ))}
                <td className="px-4 py-2 whitespace-nowrap text-quiet">
                  {row.record.created_date && <Since time={row.record.created_date} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="pt-2 text-caption text-quiet">{plural(rows.length, 'record', 'records')} shown</p>
      <More pages={pages} />
      <Dialog isOpen={shown !== undefined} title={entity.name} onClose={() => setShown(undefined)}>
        {shown && (
          <>
            <RecordFields record={shown.record} schema={entity.schema} seenBy={seenBy} />
            <CreatedBy row={shown} onSeeAs={onSeeAs} />
          </>
        )}
      </Dialog>
    </>
  );
}

function CreatedBy({ row, onSeeAs }: { readonly row: Row } & Pick<TableProps, 'onSeeAs'>) {
  const { creator } = row;
  if (creator === undefined) return null;
  const { kind, id, full_name, email } = creator;
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 border-t border-line pt-4">
      <dl className="min-w-0">
        <dt className="text-caption text-quiet">Created by</dt>
        <dd className="break-words">
          {nameCreator(row)}
          {full_name && email && <span className="block text-dense text-quiet">{email}</span>}
        </dd>
      </dl>
      {kind === 'app_user' && id !== null && (
        <Button icon={Eye} onClick={() => onSeeAs(id)}>
          See it as {full_name || email || 'this user'}
        </Button>
      )}
    </div>
  );
}

interface RecordFieldsProps extends Pick<TableProps, 'seenBy'> {
  readonly record: Row['record'];
  readonly schema: Entity['schema'];
}

/** What the app keeps comes first. What Plinth adds to each record is folded. */
function RecordFields({ record, schema, seenBy }: RecordFieldsProps) {
  const { properties = {} } = schema;
  const own = Object.keys(properties);
  const added = Object.keys(record).filter((field) => !own.includes(field));
  const describe = (field: string) =>
    seenBy !== undefined && mayBeHidden(record, field, schema)
      ? `empty, or not shown to ${seenBy}`
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
