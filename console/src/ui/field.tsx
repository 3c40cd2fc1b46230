// Inputs with their label, hint and fault.
import { type ComponentProps, type ReactNode, useId } from 'react';
import type { PlinthError } from '../data/client.ts';
import { classNames } from './class-names.ts';
import { describeFault } from './problem.tsx';

const box =
  'field-height w-full rounded-medium border border-field bg-raised px-3 py-2 text-long text-text shadow-card transition-colors middle:text-body disabled:opacity-60';

const compactBox =
  'target w-full min-w-0 truncate rounded-medium border border-line bg-raised px-2 text-dense text-text transition-colors hover:bg-hover';

interface Shared {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
}

export function Field({ label, hint, fault, ...rest }: Shared & Omit<ComponentProps<'input'>, 'className'>) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <input
        id={id}
        aria-describedby={hint || fault ? `${id}-more` : undefined}
        aria-invalid={fault !== undefined}
        {...rest}
        className={classNames(box, fault !== undefined && 'border-on-bad')}
      />
      <More id={`${id}-more`} hint={hint} fault={fault} />
    </div>
  );
}

/** Fields and their button side by side, or one below the other on a phone. A fault below a field moves nothing else. */
export const FieldRow = ({ action, children }: { readonly action: ReactNode; readonly children: ReactNode }) => (
  <div className="flex flex-col gap-3 middle:flex-row middle:items-start">
    {children}
    <div className="field-height grid shrink-0 middle:mt-6">{action}</div>
  </div>
);

interface ChoiceProps<Value extends string> extends Shared {
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly disabled?: boolean;
  /** Whether the label is only for those who don't see the control, as in a toolbar. */
  readonly isCompact?: boolean;
  onChoose(value: Value): void;
}

/** A list of choices in the browser's own control, which works with every keyboard and on every phone. */
export function Select<Value extends string>({
  label,
  hint,
  fault,
  value,
  options,
  disabled,
  isCompact = false,
  onChoose,
}: ChoiceProps<Value>) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className={isCompact ? 'sr-only' : 'font-medium'}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        aria-describedby={hint || fault ? `${id}-more` : undefined}
        onChange={({ target }) => onChoose(target.value as Value)}
        className={isCompact ? compactBox : box}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <More id={`${id}-more`} hint={hint} fault={fault} />
    </div>
  );
}

function More({
  id,
  hint,
  fault,
}: {
  readonly id: string;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
}) {
  if (!hint && !fault) return null;
  return (
    <p id={id} className={classNames('text-dense', fault ? 'text-on-bad' : 'text-quiet')}>
      {fault ?? hint}
    </p>
  );
}

/** What a refused request says about one of its fields, as a sentence. */
export function faultOf(error: PlinthError | undefined, field: string): string | undefined {
  const fault = error?.faults.find(({ loc }) => loc.includes(field));
  return fault && `This ${describeFault(fault)}.`;
}
