// Reads and writes CSV (RFC 4180): cells with commas, quotes and line breaks are in quotes.

/** Yields the cells of each row. Quotes within a quoted cell are doubled. */
export async function* parseCsv(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let [row, cell, isQuoted, wasQuote, wasReturn, isFirst] = [[] as string[], '', false, false, false, true];
  for await (const chunk of chunks)
    for (const character of isFirst ? chunk.replace(/^\uFEFF/, '') : chunk) {
      isFirst = false;
      if (wasQuote) {
        wasQuote = false;
        if (character === '"') {
          cell += '"';
          continue;
        }
        isQuoted = false;
      }
      if (isQuoted) {
        if (character === '"') wasQuote = true;
        else cell += character;
      } else if (character === '"' && cell === '') isQuoted = true;
      else if (character === ',') {
        row.push(cell);
        cell = '';
      } else if (character === '\n' || character === '\r') {
        if (!(character === '\n' && wasReturn)) yield [...row, cell];
        [row, cell] = [[], ''];
      } else cell += character;
      wasReturn = character === '\r';
    }
  if (row.length > 0 || cell !== '') yield [...row, cell];
}

export const formatCsvRow = (cells: readonly unknown[]): string => `${cells.map(formatCell).join(',')}\n`;

function formatCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
