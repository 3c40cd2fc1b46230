// Owns the headers that every answer has, so that browsers don't guess content types and keep to https.

const yearSeconds = 365 * 24 * 60 * 60;

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** `isHttps`: people reach the installation by https. */
export const listSecurityHeaders = (isHttps: boolean): readonly Header[] => [
  { name: 'x-content-type-options', value: 'nosniff' },
  ...(isHttps ? [{ name: 'strict-transport-security', value: `max-age=${yearSeconds}` }] : []),
];
