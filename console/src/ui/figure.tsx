// A number that was read. A part that could not be read is named as such, never shown as 0.
import type { AnswerOf, Name } from '../data/client.ts';
import { formatNumber } from './times.ts';

interface FigureProps {
  readonly value: number | null | undefined;
  /** The name of the part in the answer's notes, for operations that may be partial. */
  readonly part?: string;
  readonly notes?: AnswerOf<Name>['notes'] | undefined;
}

export function Figure({ value, part, notes }: FigureProps) {
  const isRead = value !== undefined && value !== null && !(part !== undefined && notes?.partial.includes(part));
  return isRead ? <span>{formatNumber(value)}</span> : <span className="text-quiet">not read</span>;
}
