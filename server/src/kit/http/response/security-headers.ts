// The headers that every response has. They prevent browsers from guessing content types and from using plain
// http.

const yearSeconds = 365 * 24 * 60 * 60;

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** `isHttps` means that the installation is reached over https. */
export const listSecurityHeaders = (isHttps: boolean): readonly Header[] => [
  { name: 'x-content-type-options', value: 'nosniff' },
  ...(isHttps ? [{ name: 'strict-transport-security', value: `max-age=${yearSeconds}` }] : []),
];
