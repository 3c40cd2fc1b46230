// A dialog with a form that makes one change. It closes once the change is done, and shows why it was refused.
import type { ReactNode, SubmitEvent } from 'react';
import type { Args, Name } from '../data/client.ts';
import type { Change, Ending } from '../data/use-change.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface FormDialogProps<N extends Name> {
  readonly isOpen: boolean;
  readonly title: string;
  readonly change: Change<N>;
  readonly action: string;
  /** What did not happen if the change is refused, such as "The folder was not created". */
  readonly refused: string;
  /** The fields. */
  readonly children: ReactNode;
  toArgs(entered: FormData): Args<N>;
  onDone(ended: Ending<N>, args: Args<N>): void;
  onClose(): void;
}

export function FormDialog<N extends Name>(props: FormDialogProps<N>) {
  const { isOpen, title, change, action, refused, children, toArgs, onDone, onClose } = props;
  const { error } = change;
  const close = () => {
    change.reset();
    onClose();
  };
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const args = toArgs(new FormData(event.currentTarget));
    const ended = await change.perform(args);
    if (!('data' in ended)) return;
    close();
    onDone(ended, args);
  };
  return (
    <Dialog isOpen={isOpen} title={title} onClose={close}>
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        {error && error.faults.length === 0 && <Problem error={error} title={refused} />}
        {children}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={change.isSending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
