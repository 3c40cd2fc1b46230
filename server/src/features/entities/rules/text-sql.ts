// Owns tests of texts as SQL, for columns and for data alike, and how values get there: bound.
import type { Comparator } from './rule.ts';

export interface SqlWriter {
  /** Answers the value's placeholder: `$1`. */
  bind(value: unknown): string;
}

export const symbols: Readonly<Record<Comparator, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

export const json = (value: unknown, sql: SqlWriter): string => `${sql.bind(JSON.stringify(value))}::jsonb`;

type TextCheck = { op: 'contains' | 'startsWith'; text: string } | { op: Comparator; value: string };

export function textCheck(text: string, check: TextCheck, sql: SqlWriter): string {
  switch (check.op) {
    case 'contains':
      // Upper and lower case by Unicode whatever the database's locale: JavaScript does the same.
      return `strpos(${lower(text)}, ${lower(`${sql.bind(check.text)}::text`)}) > 0`;
    case 'startsWith':
      return `starts_with(${text}, ${sql.bind(check.text)}::text)`;
    default:
      return `${text} collate "C" ${symbols[check.op]} ${sql.bind(check.value)}::text`;
  }
}

const lower = (text: string): string => `lower(${text} collate "und-x-icu")`;
