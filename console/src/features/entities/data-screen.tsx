// The data of an app: its kinds of records, and the records of one.
import { Link, Navigate } from '@tanstack/react-router';
import { Database } from 'lucide-react';
import { useApp } from '../../data/app-context.ts';
import { useOperation } from '../../data/use-operation.ts';
import { classNames } from '../../ui/class-names.ts';
import { Empty, Panel } from '../../ui/panel.tsx';
import { Records, type View } from './records.tsx';

interface DataProps {
  readonly entity: string | undefined;
  readonly view: View;
}

export function DataScreen({ entity, view }: DataProps) {
  const { as } = view;
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
                <Records key={chosen.name} entity={chosen} view={view} />
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
