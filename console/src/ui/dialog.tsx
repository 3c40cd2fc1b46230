// Dialogs, and the question that comes before something is removed. Their library is loaded with the first of them.
import { X } from 'lucide-react';
import { type ReactNode, Suspense, use, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { OutcomesInDialog } from './outcome.tsx';

// Dialogs appear gradually and leave at once: another one may be open already, and a secret in one must be gone.
const backdrop = 'fixed inset-0 z-40 bg-shade transition-opacity data-starting-style:opacity-0';
const popup =
  'fixed inset-x-0 z-50 flex max-h-full w-full flex-col gap-4 overflow-y-auto bg-raised p-4 shadow-raised transition data-starting-style:opacity-0 middle:mx-auto middle:h-fit middle:max-w-dialog middle:rounded-large middle:p-6';
const centred = 'bottom-0 rounded-t-large middle:inset-y-0 middle:my-auto';
const atTop = 'top-0 rounded-b-large middle:top-16';

/** What gets the focus when a dialog opens. Dialogs without a field leave that to the library. */
const firstField = 'input:enabled, select:enabled, textarea:enabled';

interface DialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  readonly children: ReactNode;
  /** Keeps its upper edge where it is while its content grows and shrinks. */
  readonly isAtTop?: boolean;
  /** Not given if the dialog can't be left. */
  readonly onClose?: () => void;
}

let dialogs: Promise<typeof import('@base-ui/react/dialog')> | undefined;
let alerts: Promise<typeof import('@base-ui/react/alert-dialog')> | undefined;
const loadDialogs = () => (dialogs ??= import('@base-ui/react/dialog'));
const loadAlerts = () => (alerts ??= import('@base-ui/react/alert-dialog'));

interface WhenOpenedProps<Props> {
  readonly props: Props;
  draw(props: Props, onClosed: (isOpen: boolean) => void): ReactNode;
}

/**
 * Draws nothing until the dialog is opened for the first time. Until it has left, it shows what it showed last, because what
 * it was about may be gone. That is forgotten then, because it may be a secret.
 */
function WhenOpened<Props extends { readonly isOpen: boolean }>({ props, draw }: WhenOpenedProps<Props>) {
  const [wasOpened, setOpened] = useState(props.isOpen);
  const [last, setLast] = useState<Props>();
  if (props.isOpen && !wasOpened) setOpened(true);
  if (props.isOpen && last !== props) setLast(props);
  const forget = (isOpen: boolean) => !isOpen && setLast(undefined);
  return wasOpened && <Suspense>{draw({ ...(last ?? props), isOpen: props.isOpen }, forget)}</Suspense>;
}

export const Dialog = (props: DialogProps) => (
  <WhenOpened props={props} draw={(shown, onClosed) => <OpenedDialog {...shown} onOpenChangeComplete={onClosed} />} />
);

interface Opened {
  onOpenChangeComplete(isOpen: boolean): void;
}

function OpenedDialog(props: DialogProps & Opened) {
  const { isOpen, title, children, isAtTop = false, onClose, onOpenChangeComplete } = props;
  const content = useRef<HTMLDivElement>(null);
  const { Dialog: Base } = use(loadDialogs());
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose?.()} onOpenChangeComplete={onOpenChangeComplete}>
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup
          ref={content}
          initialFocus={() => content.current?.querySelector<HTMLElement>(firstField) ?? true}
          className={classNames(popup, isAtTop ? atTop : centred)}
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="text-heading font-semibold">{title}</Base.Title>
            {onClose && <IconButton icon={X} name="Close" onClick={onClose} />}
          </div>
          <OutcomesInDialog />
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly title: string;
  /** What happens, and what can be undone. */
  readonly children: ReactNode;
  readonly action: string;
  readonly isBusy?: boolean;
  onConfirm(): void;
  onClose(): void;
}

/** Asks before something is removed. The action names what it does. */
export const Confirm = (props: ConfirmProps) => (
  <WhenOpened props={props} draw={(shown, onClosed) => <OpenedConfirm {...shown} onOpenChangeComplete={onClosed} />} />
);

function OpenedConfirm(props: ConfirmProps & Opened) {
  const { isOpen, title, children, action, isBusy = false, onConfirm, onClose, onOpenChangeComplete } = props;
  const { AlertDialog } = use(loadAlerts());
  return (
    <AlertDialog.Root
      open={isOpen}
      onOpenChange={(open) => !open && onClose()}
      onOpenChangeComplete={onOpenChangeComplete}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdrop} />
        <AlertDialog.Popup className={classNames(popup, centred)}>
          <AlertDialog.Title className="text-heading font-semibold">{title}</AlertDialog.Title>
          <OutcomesInDialog />
          <AlertDialog.Description render={<div />} className="flex flex-col gap-3 text-quiet">
            {children}
          </AlertDialog.Description>
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="danger" isBusy={isBusy} onClick={onConfirm}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
