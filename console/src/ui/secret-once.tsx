// A secret that the server shows once: to be copied now. It is gone from the page when the person has it.
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

interface SecretOnceProps {
  readonly title: string;
  /** Undefined closes the dialog. Null if the server has shown it before and does not repeat it. */
  readonly secret: string | null | undefined;
  onDone(): void;
}

export function SecretOnce({ title, secret, onDone }: SecretOnceProps) {
  return (
    <Dialog isOpen={secret !== undefined} title={title}>
      {secret === null ? (
        <p>It was shown once, when this was done for the first time, and can't be shown again.</p>
      ) : (
        <>
          <p className="text-quiet">Store it now. It is not shown again.</p>
          <p className="rounded-medium bg-sunken p-3 font-mono text-dense break-all select-all">{secret}</p>
        </>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        {typeof secret === 'string' && <CopyButton text={secret} label="Copy" />}
        <Button kind="primary" onClick={onDone}>
          I have it
        </Button>
      </div>
    </Dialog>
  );
}
