// The conversion tag in an app's pages: its script, the script's address, and the call that reports a conversion.
// Pure, so the thread that reads files can use it too.

const scriptHost = 'www.googletagmanager.com';

/** The base tag for the head of every page. The gateway returns the id as `AW-` followed by digits. */
export const renderTag = (
  conversionId: string,
): string => `<script async src="https://${scriptHost}/gtag/js?id=${conversionId}"></script>
<script>
  window.dataLayer = window.dataLayer || [];
  function gtag() { dataLayer.push(arguments); }
  gtag('js', new Date());
  gtag('config', '${conversionId}');
</script>`;

/**
 * The id in a tag script's address, or undefined for any other address. Plain http addresses are ignored, because https
 * pages do not load them.
 */
export function readTagId(address: string): string | undefined {
  if (!address.includes(scriptHost)) return undefined;
  const url = URL.parse(address, 'https://app.invalid');
  if (url?.origin !== `https://${scriptHost}` || url.pathname !== '/gtag/js') return undefined;
  return url.searchParams.get('id') ?? undefined;
}

/** Every file that uses a tag contains at least one of these words. */
export const tagWords = ['gtag', scriptHost] as const;

export interface ConversionCall {
  readonly conversionId: string;
  readonly label: string;
  /** JavaScript expressions. Empty if there are none. */
  readonly value: string;
  readonly currency: string;
}

/** The call does nothing if the tag is not loaded, for example because it was blocked. */
export function renderCall({ conversionId, label, value, currency }: ConversionCall): string {
  const fields = [
    `send_to: '${conversionId}/${label}'`,
    ...(value === '' ? [] : [`value: ${value}`]),
    ...(currency === '' ? [] : [`currency: ${currency}`]),
  ];
  return `window.gtag?.('event', 'conversion', { ${fields.join(', ')} });`;
}
