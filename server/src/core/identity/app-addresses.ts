// Owns the addresses of published apps: each on a host of its own, or all of them below /p/ on the host of the API.

export interface AppAddresses {
  /** Pages have no origin of their own, because they are below /p/: browsers run them in a sandbox. */
  readonly areSandboxed: boolean;
  /** Where people open the app. Ends with a slash. */
  urlOf(slug: string): string;
  /** The slug of the app whose pages would have this web origin; undefined if it is not that of an app. */
  slugOf(origin: string): string | undefined;
}

/** Hosts of apps have the scheme and the port of `baseUrl`: `https://orders.apps.example`. */
export function createAppAddresses(baseUrl: string, appsDomain: string | undefined): AppAddresses {
  if (appsDomain === undefined)
    return { areSandboxed: true, urlOf: (slug) => `${baseUrl}/p/${slug}/`, slugOf: () => undefined };
  const { protocol, port } = new URL(baseUrl);
  const start = `${protocol}//`;
  const end = `.${appsDomain}${port && `:${port}`}`;
  return {
    areSandboxed: false,
    urlOf: (slug) => `${start}${slug}${end}/`,
    slugOf: (origin) =>
      origin.startsWith(start) && origin.endsWith(end) ? origin.slice(start.length, -end.length) : undefined,
  };
}
