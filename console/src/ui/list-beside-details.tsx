// A list, and beside it what was chosen from it. On a phone there is room for one of them.
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Empty } from './panel.tsx';

interface ListBesideDetailsProps {
  readonly title: string;
  /** Stands beside the title of the list. */
  readonly actions?: ReactNode;
  readonly list: ReactNode;
  /** Lists of names need less room than lists of sentences. */
  readonly isNarrow?: boolean;
  /** Undefined if nothing is chosen. */
  readonly details: ReactNode | undefined;
  /** The link that leads from the details back to the list on a phone. */
  readonly back: ReactNode;
  /** What is said in place of the details if nothing is chosen. */
  readonly hint: { readonly icon: LucideIcon; readonly text: string };
}

export function ListBesideDetails(props: ListBesideDetailsProps) {
  const { title, actions, list, isNarrow = false, details, back, hint } = props;
  const { icon: Icon } = hint;
  return (
    <div className="flex min-h-0 grow flex-col middle:flex-row">
      <h1 className="sr-only">{title}</h1>
      <section
        aria-label={title}
        className={classNames(
          'min-h-0 flex-col gap-2 overflow-y-auto p-3 middle:flex middle:shrink-0 middle:border-r middle:border-line',
          isNarrow ? 'middle:w-sidebar' : 'middle:w-list',
          details === undefined ? 'flex' : 'hidden',
        )}
      >
        <div className="flex min-h-target items-center justify-between gap-2 pl-2">
          <p aria-hidden className="text-long font-semibold">
            {title}
          </p>
          {actions}
        </div>
        {list}
      </section>
      <div className="flex min-h-0 min-w-0 grow flex-col overflow-y-auto">
        {details === undefined ? (
          <div className="m-auto hidden max-w-form p-6 middle:block">
            <Empty>
              <Icon size={32} aria-hidden />
              <p>{hint.text}</p>
            </Empty>
          </div>
        ) : (
          <>
            <div className="flex px-4 pt-3 middle:hidden">{back}</div>
            {details}
          </>
        )}
      </div>
    </div>
  );
}
