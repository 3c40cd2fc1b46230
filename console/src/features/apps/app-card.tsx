// One app in a list: its initial on a colour, its name, and what is live.
import { Link } from '@tanstack/react-router';
import type { App } from '../../data/app-context.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { classNames } from '../../ui/class-names.ts';
import { pickColour } from './names.ts';

const colours = [
  'bg-active text-on-active',
  'bg-wait text-on-wait',
  'bg-good text-on-good',
  'bg-unknown text-on-unknown',
  'bg-bad text-on-bad',
  'bg-neutral text-on-neutral',
];

export function AppCard({ app }: { readonly app: App }) {
  return (
    <Link
      to="/editor/$app/preview"
      params={{ app: app.id }}
      className="flex min-w-0 grow flex-col gap-4 rounded-large border border-line bg-card p-4 shadow-card transition-shadow hover:shadow-raised"
    >
      <span className="flex min-w-0 items-center gap-3 pr-8">
        <span
          aria-hidden
          className={classNames(
            'flex size-large-target shrink-0 items-center justify-center rounded-medium text-long font-semibold',
            colours[pickColour(app.id)],
          )}
        >
          {app.name.slice(0, 1).toUpperCase()}
        </span>
        <span className="flex min-w-0 flex-col">
          <span className="truncate font-semibold">{app.name}</span>
          <span className="truncate text-dense text-quiet">
            {app.published ? new URL(app.published.url).host : describeRevision(app)}
          </span>
        </span>
      </span>
      <span className="flex flex-wrap items-center justify-between gap-2 text-dense text-quiet">
        <AppState app={app} />
        <span>
          changed <Since time={app.updated_date} />
        </span>
      </span>
    </Link>
  );
}

/** Nothing was built in an app whose revision is still the one with which it was created. */
const describeRevision = ({ revision }: App): string => (revision <= 1 ? 'nothing built yet' : `revision ${revision}`);

/** The same words everywhere: what the assistant does, or else which revision visitors see. */
export function AppState({ app }: { readonly app: App }) {
  if (app.status.state === 'processing') return <Badge tone="active">working</Badge>;
  if (app.status.state === 'error') return <Badge tone="bad">last change failed</Badge>;
  if (app.published === null) return <Badge>not published</Badge>;
  if (app.published.revision === app.revision) return <Badge tone="good">live</Badge>;
  return <Badge tone="wait">newer than live</Badge>;
}
