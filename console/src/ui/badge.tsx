// A status: a word, a shape and a colour, so colour is never the only sign.
import {
  Circle,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

export type Tone = 'neutral' | 'active' | 'good' | 'wait' | 'bad' | 'unknown';

const tones: Readonly<Record<Tone, { readonly colours: string; readonly shape: LucideIcon }>> = {
  neutral: { colours: 'bg-neutral text-on-neutral', shape: Circle },
  active: { colours: 'bg-active text-on-active', shape: LoaderCircle },
  good: { colours: 'bg-good text-on-good', shape: CircleCheck },
  wait: { colours: 'bg-wait text-on-wait', shape: CircleDashed },
  bad: { colours: 'bg-bad text-on-bad', shape: CircleAlert },
  unknown: { colours: 'bg-unknown text-on-unknown', shape: CircleHelp },
};

export const toneClass = (tone: Tone): string => tones[tone].colours;

export function ToneIcon({ tone }: { readonly tone: Tone }) {
  const Shape = tones[tone].shape;
  return <Shape size={16} aria-hidden className={classNames('shrink-0', tone === 'active' && 'animate-turn')} />;
}

export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  const Shape = tones[tone].shape;
  return (
    <span
      className={classNames(
        'inline-flex items-center gap-1 rounded-full px-2 py-px text-caption font-medium whitespace-nowrap',
        tones[tone].colours,
      )}
    >
      <Shape size={12} aria-hidden className={classNames('shrink-0', tone === 'active' && 'animate-turn')} />
      {children}
    </span>
  );
}
