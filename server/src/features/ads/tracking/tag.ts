// Owns the conversion tag as it stands in the pages of an app: its script, its address, and the call that reports a conversion.
// Pure, also for the thread that reads files.

const scriptHost = 'www.googletagmanager.com';

/** The base tag, for the head of every page. The id has the form of the gateway: `AW-` and digits. */
export const renderTag = (
  conversionId: string,
): string => `<script async src="https://${scriptHost}/gtag/js?id=${conversionId}"></script>
<script>
  window.dataLayer = window.dataLayer || [];
  function gtag() { dataLayer.push(arguments); }
  gtag('js', new Date());
  gtag('config', '${conversionId}');
</script>`;

/** The id in the address of a tag's script; undefined if it is another address. Pages of https load nothing by http. */
export function readTagId(address: string): string | undefined {
  if (!address.includes(scriptHost)) return undefined;
  const url = URL.parse(address, 'https://app.invalid');
  if (url?.origin !== `https://${scriptHost}` || url.pathname !== '/gtag/js') return undefined;
  return url.searchParams.get('id') ?? undefined;
}

/** What a file contains if it contains anything of a tag. */
export const tagWords = ['gtag', scriptHost] as const;

export interface ConversionCall {
  readonly conversionId: string;
  readonly label: string;
  /** JavaScript expressions; empty: none. */
  readonly value: string;
  readonly currency: string;
}

/** Does nothing while the tag is not loaded, for example because it was blocked. */
export function renderCall({ conversionId, label, value, currency }: ConversionCall): string {
  const fields = [
    `send_to: '${conversionId}/${label}'`,
    ...(value === '' ? [] : [`value: ${value}`]),
    ...(currency === '' ? [] : [`currency: ${currency}`]),
  ];
  return `window.gtag?.('event', 'conversion', { ${fields.join(', ')} });`;
}
