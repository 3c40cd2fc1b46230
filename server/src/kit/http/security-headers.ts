// Owns the headers that every answer has, so that browsers don't guess content types and keep to https.

const yearSeconds = 365 * 24 * 60 * 60;

/** Names and values. `isHttps`: people reach the installation by https. */
export const listSecurityHeaders = (isHttps: boolean): readonly (readonly [name: string, value: string])[] => [
  ['x-content-type-options', 'nosniff'],
  ...(isHttps ? [['strict-transport-security', `max-age=${yearSeconds}`] as const] : []),
];
