// A menu that opens from a button. The library of menus is a third of what a first visit would load, so it is loaded
// when the pointer or the focus reaches the first button.
import { Check, type LucideIcon } from 'lucide-react';
import { type ComponentProps, type ReactNode, Suspense, use, useState } from 'react';
import { classNames } from './class-names.ts';

interface MenuProps {
  /** The content of the button, or its icon alone with a name. */
  readonly label: ReactNode;
  readonly name?: string;
  readonly kind?: 'plain' | 'quiet';
  readonly side?: 'bottom' | 'right' | 'top';
  readonly align?: 'start' | 'end';
  readonly children: ReactNode;
}

let parts: Promise<typeof import('@base-ui/react/menu')> | undefined;
const loadParts = () => (parts ??= import('@base-ui/react/menu'));

export function Menu(props: MenuProps) {
  const { label, name, kind = 'quiet' } = props;
  const [isWanted, setWanted] = useState(false);
  const button = {
    'aria-label': name,
    title: name,
    className: classNames(
      'target inline-flex min-w-target items-center justify-center gap-2 rounded-medium px-2 transition-colors hover:bg-hover data-popup-open:bg-hover',
      kind === 'plain' && 'border border-line bg-raised shadow-card',
    ),
    children: label,
  };
  const closed = (
    <button
      type="button"
      aria-haspopup="menu"
      aria-expanded="false"
      onPointerEnter={() => void loadParts()}
      onFocus={() => void loadParts()}
      onClick={() => setWanted(true)}
      {...button}
    />
  );
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <LoadedMenu {...props} button={button} />
    </Suspense>
  );
}

type LoadedProps = MenuProps & { readonly button: ComponentProps<'button'> };

/** Drawn when the button is pressed for the first time, so it begins open. */
function LoadedMenu({ button, side = 'bottom', align = 'start', children }: LoadedProps) {
  const { Menu: Base } = use(loadParts());
  return (
    <Base.Root modal={false} defaultOpen>
      <Base.Trigger {...button} />
      <Base.Portal>
        <Base.Positioner side={side} align={align} sideOffset={4} className="z-50">
          <Base.Popup className="flex max-w-form min-w-picture flex-col rounded-medium border border-line bg-raised p-1 shadow-raised transition-opacity outline-none data-ending-style:opacity-0 data-starting-style:opacity-0">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

interface ItemProps {
  readonly icon?: LucideIcon;
  readonly isChosen?: boolean;
  readonly isDangerous?: boolean;
  readonly children: ReactNode;
  onSelect(): void;
}

export function MenuItem({ icon: Icon, isChosen, isDangerous = false, children, onSelect }: ItemProps) {
  const { Menu: Base } = use(loadParts());
  return (
    <Base.Item
      onClick={onSelect}
      className={classNames(
        'target flex items-center gap-2 rounded-small px-2 outline-none data-highlighted:bg-hover',
        isDangerous && 'text-on-bad',
      )}
    >
      {Icon && <Icon size={16} aria-hidden className="shrink-0" />}
      <span className="grow">{children}</span>
      {isChosen && <Check size={16} aria-label="chosen" className="shrink-0" />}
    </Base.Item>
  );
}

export function MenuLine() {
  const { Menu: Base } = use(loadParts());
  return <Base.Separator className="my-1 h-px bg-line" />;
}
