// Explains why a request was refused or failed: what happened, what to do next, and the id of the request.
import { Copy } from 'lucide-react';
import { useState } from 'react';
import type { PlinthError } from '../data/client.ts';
import { type Tone, ToneIcon, toneClass } from './badge.tsx';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';

interface ProblemProps {
  readonly error: PlinthError;
  /** What was attempted, such as "The app was not published". */
  readonly title?: string;
  readonly onAgain?: () => void;
  /** What `onAgain` does if it is not known whether the first attempt took effect. */
  readonly againIfUnknown?: string;
}

export function Problem({ error, title, onAgain, againIfUnknown = 'Look again' }: ProblemProps) {
  const tone: Tone = error.outcomeUnknown ? 'unknown' : 'bad';
  const [isOpen, setOpen] = useState(false);
  return (
    <div role="alert" className={classNames('flex gap-3 rounded-medium p-3', toneClass(tone))}>
      <ToneIcon tone={tone} />
      <div className="flex min-w-0 grow flex-col gap-1">
        {title && <strong className="font-semibold">{title}</strong>}
        <p>{explain(error)}</p>
        <div className="flex flex-wrap items-center gap-2">
          {onAgain && <Button onClick={onAgain}>{error.outcomeUnknown ? againIfUnknown : 'Try again'}</Button>}
          <button type="button" className="target underline" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Details
          </button>
        </div>
        {isOpen && (
          <p className="flex items-center gap-1 font-mono text-caption break-all">
            {error.operation} {error.status ?? ''} {error.code} {error.requestId}
            {error.requestId !== undefined && (
              <IconButton
                icon={Copy}
                name="Copy the id of the request"
                onClick={() => void navigator.clipboard.writeText(error.requestId ?? '')}
              />
            )}
          </p>
        )}
      </div>
    </div>
  );
}

/** The server's sentences, in words for people who write no programs. Ids and codes are under “Details”. */
export function explain(error: PlinthError): string {
  if (error.outcomeUnknown) return "The connection was lost. We don't know yet whether this took effect.";
  if (error.status === undefined) return "The server can't be reached. Check your connection.";
  if (error.code === 'route_not_found' || error.code === 'operation_not_on_server')
    return 'The server does not know this request, because it is older or newer than this page. Load the page again.';
  if (error.status === 404) return "This isn't here. It may have been deleted, or you may not see it.";
  if (error.faults.length > 0)
    return `What you sent is not valid: ${error.faults.map((fault) => `${String(fault.loc.at(-1)).replaceAll('_', ' ')} ${describeFault(fault)}`).join('; ')}.`;
  return error.message.slice(error.operation.length + 2);
}

/** What is wrong with a field. A regular expression is of no use to people, so it is left out. */
export const describeFault = ({ type, msg }: PlinthError['faults'][number]): string =>
  type === 'string_pattern_mismatch' && msg.startsWith('must match')
    ? 'is not written in the form that is needed here'
    : msg;
