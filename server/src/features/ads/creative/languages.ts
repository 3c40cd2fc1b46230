// The languages for ad texts, and how the Accept-Language header selects one.

/** The language codes, with the names used in prompts. */
export const languageNames = {
  en: 'English',
  de: 'German',
  es: 'Spanish',
  fr: 'French',
  it: 'Italian',
  ja: 'Japanese',
  nl: 'Dutch',
  pt: 'Portuguese',
  pl: 'Polish',
  sv: 'Swedish',
  da: 'Danish',
  nb: 'Norwegian Bokmål',
  fi: 'Finnish',
  cs: 'Czech',
  he: 'Hebrew',
  ko: 'Korean',
} as const;

export type Language = keyof typeof languageNames;
export const languages = Object.keys(languageNames) as [Language, ...Language[]];

const isLanguage = (code: string): code is Language => Object.hasOwn(languageNames, code);

/** Alternative codes for the same language. */
const otherCodes: Readonly<Record<string, Language>> = { no: 'nb', iw: 'he' };

const maxRanges = 32;

/**
 * The caller's preferred supported language, or English. `fr-CH, de;q=0.9` gives French, `tlh, de;q=0.5` gives German,
 * and `*` and `tlh` give English.
 */
export function chooseLanguage(header: string | string[] | undefined): Language {
  const ranges = String(header ?? '')
    .split(',', maxRanges)
    .map(parseRange)
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality); // the sort is stable, so the first of two equal entries wins
  return ranges.find(({ language }) => language !== undefined)?.language ?? 'en';
}

function parseRange(range: string): { language: Language | undefined; quality: number } {
  const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const [primary = ''] = tag.split('-');
  const code = otherCodes[primary] ?? primary;
  const sent = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const quality = sent === undefined ? 1 : Number(sent);
  return { language: isLanguage(code) ? code : undefined, quality: Number.isFinite(quality) ? quality : 0 };
}

/** Falls back to English for a code that is no longer supported. */
export const toLanguage = (code: string): Language => languages.find((each) => each === code) ?? 'en';
