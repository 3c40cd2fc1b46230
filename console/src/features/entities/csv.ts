// Writes records as a table for spreadsheet programs: comma-separated values as in RFC 4180.
import type { Data } from '../../data/client.ts';
import { formatValue, nameField } from './columns.ts';
import { nameCreator, type Row } from './rows.ts';

type Schema = Data<'listEntitySchemas'>[number]['schema'];

/** Tells spreadsheet programs that the text is UTF-8. */
const byteOrderMark = '\uFEFF';

/** The line with the names of the columns. All fields are written, also those for which the screen has no room. */
export const writeHead = ({ properties = {} }: Schema): string =>
  byteOrderMark +
  writeLine([...Object.keys(properties).map((field) => nameField(field, properties)), 'Created by', 'Added', 'Id']);

export const writeRows = ({ properties = {} }: Schema, rows: readonly Row[]): string =>
  rows
    .map((row) =>
      writeLine([
        ...Object.keys(properties).map((field) => row.record[field]),
        nameCreator(row),
        row.record.created_date,
        row.record.id,
      ]),
    )
    .join('');

const writeLine = (values: readonly unknown[]): string => `${values.map(writeCell).join(',')}\r\n`;

/**
 * Spreadsheet programs run a text that begins with one of these signs as a formula, and the text may be a stranger's. A
 * program that takes another separator than the comma splits the text, so a sign after a separator counts, too, and after
 * quotation marks that it would drop. The apostrophe makes `=1` and `a;=1` the texts `'=1` and `a;'=1`.
 */
const formulas = /(^|[,;\t\r\n]|[;\t\r\n]"+)(?=[=+\-@＝＋－＠])/g;
/** Some programs drop these at the beginning. */
const blank = /^(?=[\t\r\n])/;

/** A number stays one: `-5` is written as it is. */
function writeCell(value: unknown): string {
  const text = formatValue(value);
  if (typeof value === 'number' || text === '') return text;
  return `"${text.replaceAll(formulas, "$1'").replace(blank, "'").replaceAll('"', '""')}"`;
}
