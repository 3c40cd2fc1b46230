// A session's brief: the business, from the request or the app's own description, and the app's look.
import type { AppAccess, AppRow } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import type { Business } from './prompt.ts';

export interface Brief extends Business {
  /** The app's own colour, as `#rrggbb` or `#rgb`. Null if it has none. */
  readonly accent: string | null;
  readonly logo_url: string | null;
}

/** Reads the files at these paths, skipping missing ones. */
export type ReadFiles = (
  db: Db,
  access: AppAccess,
  paths: readonly string[],
) => Promise<readonly { readonly path: string; readonly content: Buffer }[]>;

export async function writeBrief(
  db: Db,
  access: AppAccess,
  readFiles: ReadFiles,
  sent: Partial<Business>,
  appUrl: string,
): Promise<Brief> {
  const { app } = access;
  return {
    ...describeBusiness(app, sent, appUrl),
    accent: findAccent(await readFiles(db, access, ['public/index.html', 'public/style.css'])),
    logo_url: app.logo_url,
  };
}

/** The request takes precedence over the app's own description. */
export const describeBusiness = (
  app: Pick<AppRow, 'name' | 'user_description'>,
  sent: Partial<Business>,
  appUrl: string,
): Business => ({
  business_name: sent.business_name?.trim() || app.name,
  business_description: sent.business_description ?? app.user_description,
  landing_page_url: sent.landing_page_url ?? appUrl,
});

/** Colours are declared near the beginning of a file. */
const searchedBytes = 64 * 1024;
const themeColour = /<meta\s+name="theme-color"\s+content="(#[0-9a-f]{6}|#[0-9a-f]{3})"/i;
const accentVariable =
  /--(?:accent|primary|brand)(?:-color)?\s{0,9}:\s{0,9}(?:light-dark\(\s{0,9})?(#[0-9a-f]{6}|#[0-9a-f]{3})\b/i;

/** The page's theme colour, or the style sheet's accent variable. */
export function findAccent(files: readonly { readonly content: Buffer }[]): string | null {
  const texts = files.map(({ content }) => content.toString('utf8', 0, searchedBytes));
  for (const pattern of [themeColour, accentVariable])
    for (const text of texts) {
      const found = pattern.exec(text)?.[1];
      if (found !== undefined) return found;
    }
  return null;
}
