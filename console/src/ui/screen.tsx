// The frame of a screen's content: one heading, which gets the focus after a change of page, and its actions.
import { type ReactNode, useEffect, useRef } from 'react';
import { classNames } from './class-names.ts';

interface ScreenProps {
  readonly title: string;
  readonly actions?: ReactNode;
  /** For screens that fill the window, such as the files of an app. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

export function Screen({ title, actions, isWide = false, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Plinth`;
    if (document.activeElement === document.body) heading.current?.focus();
  }, [title]);
  return (
    <div className={classNames('mx-auto flex w-full flex-col gap-6 p-4 middle:p-6', !isWide && 'max-w-page')}>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h1 ref={heading} tabIndex={-1} className="text-heading font-semibold">
          {title}
        </h1>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  /** Where links lead to. */
  readonly id?: string;
  readonly hint?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A card with a heading. */
export function Section({ title, id, hint, actions, children }: SectionProps) {
  return (
    <section
      id={id}
      className="flex scroll-m-4 flex-col gap-4 rounded-large border border-line bg-card p-4 shadow-card middle:p-6"
    >
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="flex min-w-0 flex-col gap-1">
          <h2 className="text-long font-semibold">{title}</h2>
          {hint && <p className="max-w-reading text-quiet">{hint}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}
