// Owns which requests are for published apps, and for which. With a domain of their own, every host at or under it belongs to
// apps and never to the API; without one, the addresses below /p/ do.
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
  /** Undefined: the host can't be that of an app. */
  readonly slug: string | undefined;
  /** Path and query in the app. Empty if the slash behind the slug is missing. */
  readonly target: string;
}

export type FindAppTarget = (request: IncomingMessage) => AppTarget | undefined;

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

function findInFolder({ url = '' }: IncomingMessage): AppTarget | undefined {
  if (!url.startsWith(folder)) return undefined;
  const end = url.slice(folder.length).search(/[/?]/);
  const slug = end === -1 ? url.slice(folder.length) : url.slice(folder.length, folder.length + end);
  if (slug === '') return undefined;
  const rest = url.slice(folder.length + slug.length);
  return { slug: slugForm.test(slug) ? slug : undefined, target: rest.startsWith('/') ? rest : '' };
}

/** In lower case, without the port and the dot of the root. */
const normalizeHost = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.+$/, '');
