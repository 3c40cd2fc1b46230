// Queries in the platform's query language (GAQL). All pages are read, up to a limit.
import type { Calls } from './calls.ts';
import { asArray, asObject, asText, type Json } from './json.ts';
import type { Reading } from './outcome.ts';

/** Resources by name, such as `{ campaign: { id: '1' }, metrics: { clicks: '3' } }`. */
export type Row = Json;

/** A page has up to 10,000 rows. */
const maxPages = 100;
/** The time limit for all pages combined. */
const maxMs = 60_000;

export async function search(
  calls: Calls,
  customerId: string,
  query: string,
  maxRows: number,
  timeoutMs = maxMs,
): Promise<Reading<{ readonly rows: readonly Row[]; readonly isTruncated: boolean }>> {
  const rows: Row[] = [];
  const notAfter = performance.now() + timeoutMs;
  let pageToken = '';
  for (let pages = 1; ; pages += 1) {
    const body = { query, ...(pageToken !== '' && { pageToken }) };
    const page = await calls.read({ path: `/customers/${customerId}/googleAds:search`, body }, readPage, notAfter);
    if (page.outcome !== 'read') return page;
    for (const row of page.result.rows) rows.push(row);
    pageToken = page.result.nextPageToken;
    if (pageToken === '' || rows.length >= maxRows || pages === maxPages) {
      const isTruncated = pageToken !== '' || rows.length > maxRows;
      return { ...page, result: { rows: rows.slice(0, maxRows), isTruncated } };
    }
  }
}

/** A response without rows has no `results`. */
const readPage = ({ results, nextPageToken }: Json) => ({
  rows: asArray(results).map(asObject),
  nextPageToken: asText(nextPageToken),
});

/** Quotes a string for use in a query. */
export const quote = (text: string): string => `'${text.replaceAll(/[\\']/g, (sign) => `\\${sign}`)}'`;
