// The question that comes before an app is moved to the trash.
import type { App } from '../data/app-context.ts';
import { useChange } from '../data/use-change.ts';
import { Confirm } from './dialog.tsx';
import { sayOutcome } from './outcome.tsx';

interface DeleteAppProps {
  readonly app: Pick<App, 'id' | 'name'>;
  readonly isOpen: boolean;
  onClose(): void;
  onDeleted?(): void;
}

export function DeleteApp({ app, isOpen, onClose, onDeleted }: DeleteAppProps) {
  const remove = useChange('deleteApp');
  const removeApp = async () => {
    const ended = await remove.perform({ app_id: app.id });
    sayOutcome(ended, `“${app.name}” is in the trash.`, 'The app was not deleted.');
    onClose();
    if ('data' in ended) onDeleted?.();
  };
  return (
    <Confirm
      isOpen={isOpen}
      title={`Delete “${app.name}”?`}
      action="Move to the trash"
      isBusy={remove.isSending}
      onConfirm={() => void removeApp()}
      onClose={onClose}
    >
      <p>Its pages stop at once. You can restore it from the trash for 30 days.</p>
    </Confirm>
  );
}
