// A button: primary for the one thing to do next, plain for the rest, quiet in toolbars, danger for what removes.
import { LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';
import { classNames } from './class-names.ts';

type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

const kinds: Readonly<Record<Kind, string>> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover shadow-card',
  plain: 'border border-line bg-raised text-text hover:bg-hover shadow-card',
  quiet: 'text-quiet hover:bg-hover hover:text-text',
  danger: 'border border-line bg-raised text-on-bad hover:bg-bad shadow-card',
};

const shape =
  'target inline-flex items-center justify-center gap-2 rounded-medium px-3 font-medium whitespace-nowrap transition-colors select-none disabled:pointer-events-none disabled:opacity-60';

/** For links that look like buttons. */
export const buttonClass = (kind: Kind = 'plain'): string => classNames(shape, kinds[kind]);

/** For links that look like quiet buttons with an icon. */
export const iconLinkClass =
  'target inline-flex min-w-target items-center justify-center rounded-medium text-quiet transition-colors hover:bg-hover hover:text-text';

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  readonly kind?: Kind;
  readonly icon?: LucideIcon;
  /** Shows that the action is under way. The button can't be pressed again. */
  readonly isBusy?: boolean;
  /** Why the button can't be used. */
  readonly reason?: string | undefined;
  readonly children: ReactNode;
}

export function Button({ kind = 'plain', icon: Icon, isBusy = false, reason, children, ...rest }: ButtonProps) {
  const isOff = isBusy || rest.disabled === true || reason !== undefined;
  const Shown = isBusy ? LoaderCircle : Icon;
  return (
    <button type="button" title={reason} {...rest} disabled={isOff} className={buttonClass(kind)}>
      {Shown && <Shown size={16} aria-hidden className={classNames('shrink-0', isBusy && 'animate-turn')} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'children'> {
  readonly icon: LucideIcon;
  /** What the button does, for those who don't see the icon. */
  readonly name: string;
  readonly kind?: Kind;
  readonly isPressed?: boolean;
}

export function IconButton({ icon: Icon, name, kind = 'quiet', isPressed, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      title={name}
      aria-label={name}
      aria-pressed={isPressed}
      {...rest}
      className={classNames(
        'target inline-flex min-w-target shrink-0 items-center justify-center rounded-medium transition-colors disabled:opacity-60 pointer-coarse:min-w-bar',
        kinds[kind],
        isPressed && 'bg-hover text-text',
      )}
    >
      <Icon size={16} aria-hidden />
    </button>
  );
}
