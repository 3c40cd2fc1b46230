// Decides which requests are for published apps, and for which app. If apps have their own domain, that domain and all
// hosts under it belong to apps, never to the API. Otherwise, the addresses below /p/ belong to apps.
//
//   APPS_DOMAIN    request                       slug     target
//   apps.example   shop.apps.example /a?b        shop     /a?b
//   apps.example   SHOP.apps.example.:8443 /     shop     /
//   apps.example   x.shop.apps.example /         (none)   /         there are no hosts below an app's
//   apps.example   plinth.example /p/shop/       not for an app
//   (not set)      plinth.example /p/shop/a?b    shop     /a?b
//   (not set)      plinth.example /p/shop        shop     (empty)
import type { IncomingMessage } from 'node:http';

export interface AppTarget {
  /** `undefined` if the host can't belong to an app. */
  readonly slug: string | undefined;
  /** The path and query within the app. Empty if the slash after the slug is missing. */
  readonly target: string;
}

export type FindAppTarget = (request: Pick<IncomingMessage, 'headers' | 'url'>) => AppTarget | undefined;

const slugForm = /^[a-z0-9-]{3,63}$/;
const folder = '/p/';

export function createTargetFinder(appsDomain: string | undefined): FindAppTarget {
  if (appsDomain === undefined) return findInFolder;
  const suffix = `.${appsDomain}`;
  return ({ headers, url = '' }) => {
    const host = normalizeHost(headers.host ?? '');
    if (host !== appsDomain && !host.endsWith(suffix)) return undefined;
    const label = host.slice(0, -suffix.length);
    return { slug: slugForm.test(label) ? label : undefined, target: url };
  };
}

function findInFolder({ url = '' }: Pick<IncomingMessage, 'url'>): AppTarget | undefined {
  if (!url.startsWith(folder)) return undefined;
  const end = url.slice(folder.length).search(/[/?]/);
  const slug = end === -1 ? url.slice(folder.length) : url.slice(folder.length, folder.length + end);
  if (slug === '') return undefined;
  const rest = url.slice(folder.length + slug.length);
  return { slug: slugForm.test(slug) ? slug : undefined, target: rest.startsWith('/') ? rest : '' };
}

/**
 * Converts a host to lower case and removes the port and trailing dots. The lookbehind keeps the search from starting
 * again at each of many dots.
 */
const normalizeHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/(?<!\.)\.+$/, '');
