// A difference, with the numbers of its lines.
import { classNames } from './class-names.ts';
import type { DiffLine } from './diff.ts';

const rows = {
  added: { className: 'bg-good text-on-good', sign: '+' },
  removed: { className: 'bg-bad text-on-bad', sign: '−' },
  same: { className: '', sign: '' },
  gap: { className: 'bg-sunken text-quiet', sign: '' },
} as const;

export function DiffView({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <div tabIndex={0} role="group" aria-label="Difference" className="overflow-x-auto">
      <table className="w-full border-collapse font-mono text-caption">
        <tbody>
          {lines.map(({ kind, text, before, after }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and their order is the text's
            <tr key={index} className={rows[kind].className}>
              <td className="w-px px-2 text-right select-none">{before}</td>
              <td className="w-px px-2 text-right select-none">{after}</td>
              <td className="w-px select-none">{rows[kind].sign}</td>
              <td className={classNames('pr-4 pl-2 whitespace-pre', kind === 'gap' && 'py-1')}>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
