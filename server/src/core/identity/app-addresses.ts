// The addresses of published apps. Either each app has its own host, or all apps are below /p/ on the API's host.

export interface AppAddresses {
  /** True if apps are below /p/. Browsers then sandbox their pages, which have no origin of their own. */
  readonly areSandboxed: boolean;
  /** The app's address, ending with a slash. */
  urlOf(slug: string): string;
  /** The slug of the app that is served from this origin, if any. */
  slugOf(origin: string): string | undefined;
}

/** An app's host uses the scheme and port of `baseUrl`. Example: `https://orders.apps.example`. */
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
