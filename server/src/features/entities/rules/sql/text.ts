// Writes text checks as SQL, for both columns and data, and the parameters that values are bound to.
import type { Comparator } from '../rule.ts';

export interface SqlParameters {
  /** Adds the value and returns its placeholder, such as `$1`. */
  bind(value: unknown): string;
}

export const comparisonSymbols: Readonly<Record<Comparator, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

export const bindJson = (value: unknown, params: SqlParameters): string =>
  `${params.bind(JSON.stringify(value))}::jsonb`;

type TextCheck = { op: 'contains' | 'startsWith'; text: string } | { op: Comparator; value: string };

export function writeTextCheck(text: string, check: TextCheck, params: SqlParameters): string {
  switch (check.op) {
    case 'contains':
      // This collation folds case by Unicode rules, as JavaScript does, regardless of the database's locale.
      return `strpos(${writeLower(text)}, ${writeLower(`${params.bind(check.text)}::text`)}) > 0`;
    case 'startsWith':
      return `starts_with(${text}, ${params.bind(check.text)}::text)`;
    default:
      return `${text} collate "C" ${comparisonSymbols[check.op]} ${params.bind(check.value)}::text`;
  }
}

const writeLower = (text: string): string => `lower(${text} collate "und-x-icu")`;
