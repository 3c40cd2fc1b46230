// The field in which a person says what they want, with the button that sends it.
import type { LucideIcon } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, type Ref, useId } from 'react';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';

interface ComposerProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly action: string;
  readonly icon: LucideIcon;
  readonly isLarge?: boolean;
  readonly isSending?: boolean;
  readonly isFocused?: boolean;
  /** Why nothing can be sent now. */
  readonly reason?: string | undefined;
  /** Stands beside the button, such as the price. */
  readonly children?: ReactNode;
  readonly inputRef?: Ref<HTMLTextAreaElement>;
  onText(text: string): void;
  onSend(): void;
}

export function Composer(props: ComposerProps) {
  const { label, placeholder, text, action, icon, isLarge = false, isSending = false, reason, children } = props;
  const id = useId();
  const canSend = text.trim() !== '' && !isSending && reason === undefined;
  const send = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    // On a phone there is no Shift key to begin a new line with.
    if (!(event.ctrlKey || event.metaKey) && matchMedia('(pointer: coarse)').matches) return;
    event.preventDefault();
    if (canSend) props.onSend();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) props.onSend();
      }}
      className="flex flex-col rounded-large border border-field bg-raised shadow-card transition-shadow focus-within:border-focus focus-within:shadow-raised"
    >
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <textarea
        id={id}
        ref={props.inputRef}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: the prompt is what the page is for
        autoFocus={props.isFocused}
        placeholder={placeholder}
        onChange={({ target }) => props.onText(target.value)}
        onKeyDown={send}
        rows={isLarge ? 3 : 2}
        className={classNames(
          'field-sizing-content max-h-list w-full resize-none rounded-large bg-transparent px-4 pt-3 text-long outline-none',
          isLarge && 'min-h-prompt',
        )}
      />
      <div className="flex flex-wrap items-center justify-between gap-2 p-2">
        <div className="flex min-w-0 flex-wrap items-center gap-2 text-dense text-quiet">{children}</div>
        <div className="ml-auto">
          <Button
            type="submit"
            kind="primary"
            icon={icon}
            isBusy={isSending}
            disabled={!canSend}
            title={reason ?? 'Enter'}
          >
            {action}
          </Button>
        </div>
      </div>
    </form>
  );
}
